package inferbench

import (
	"errors"
	"time"

	gpu "facetrack/infer/cuda"
	"facetrack/internal/cuda"
)

// measure takes the times of a network whose input is zeros; no kernel's time depends on the numbers.
func (o *Options) measure(net *gpu.Network, c *cuda.Context, r *Row) (err error) {
	stream, err := c.NewStream()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	exec, err := net.NewExec(r.Batch)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, exec.Close()) }()
	if exec.MaxBatch() < r.Batch {
		return cuda.OutOfMemory
	}
	plain := func() error { return errors.Join(exec.Launch(stream, r.Batch), stream.Synchronize()) }
	if r.PlainP50, _, err = o.single(plain); err != nil {
		return err
	}
	if err := exec.Capture(r.Batch); err != nil {
		return err
	}
	graph := func() error { return errors.Join(exec.Enqueue(stream, r.Batch), stream.Synchronize()) }
	if r.P50, r.P99, err = o.single(graph); err != nil {
		return err
	}
	begin := time.Now()
	for range o.Runs {
		if err := exec.Enqueue(stream, r.Batch); err != nil {
			return err
		}
	}
	if err := stream.Synchronize(); err != nil {
		return err
	}
	r.InARow = micros(time.Since(begin)) / float64(o.Runs)
	return nil
}
