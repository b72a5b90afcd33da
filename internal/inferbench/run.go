package inferbench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	gpu "facetrack/infer/cuda"
	"facetrack/internal/gpuvision"
)

// Run measures every network and chain, and then what PyTorch makes of the same networks.
func Run(ctx context.Context, o Options) (result *Result, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	device, err := gpu.OpenDevice(o.GPU)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, device.Close()) }()
	result = &Result{GPU: describe(device.Context().Device()), Runs: o.Runs}
	for _, n := range o.Networks {
		for _, precision := range o.Precisions {
			o.say("%s, %s", n.Name, precision)
			rows, err := o.network(ctx, device, n, precision)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", n.Name, precision, err)
			}
			result.Rows = append(result.Rows, rows...)
		}
	}
	if err := o.chains(ctx, result); err != nil {
		return nil, err
	}
	return result, o.compare(ctx, result)
}

func (o *Options) chains(ctx context.Context, result *Result) (err error) {
	if len(o.Chains) == 0 {
		return nil
	}
	device, err := gpuvision.OpenDevice(o.GPU)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, device.Close()) }()
	scene, err := newScene(device.Context(), slices.Max(o.Batches))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, scene.close()) }()
	for _, c := range o.Chains {
		for _, precision := range o.Precisions {
			o.say("%s, %s", c.Name, precision)
			rows, err := o.chain(ctx, device, scene, c, precision)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", c.Name, precision, err)
			}
			result.Rows = append(result.Rows, rows...)
		}
	}
	return nil
}

func (o *Options) network(ctx context.Context, d *gpu.Device, n Named, precision string) (rows []Row, err error) {
	net, err := gpu.NewNetwork(d.Context(), d.Kernels(), n.Graph, gpu.Options{Precision: precision, Graphs: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, net.Close()) }()
	for _, batch := range o.Batches {
		if err := ctx.Err(); err != nil {
			return rows, err
		}
		r := Row{Network: n.Name, Precision: precision, Batch: batch, Launches: len(net.Steps())}
		if err := o.measure(net, d.Context(), &r); err != nil {
			return rows, fmt.Errorf("batch %d: %w", batch, err)
		}
		if r.Floor, err = floor(d.Context().Device(), precision, batch, n.Graph); err != nil {
			return rows, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// warm is how long runs do not count, so that clocks have risen.
const warm = 100 * time.Millisecond

// single returns the median and the 99th percentile of runs.
func (o *Options) single(run func() error) (p50, p99 float64, err error) {
	for begin := time.Now(); time.Since(begin) < warm; {
		if err := run(); err != nil {
			return 0, 0, err
		}
	}
	times := make([]float64, o.Runs)
	for i := range times {
		begin := time.Now()
		if err := run(); err != nil {
			return 0, 0, err
		}
		times[i] = micros(time.Since(begin))
	}
	slices.Sort(times)
	return times[len(times)/2], times[len(times)*99/100], nil
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
