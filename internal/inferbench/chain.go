package inferbench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"facetrack/infer"
	"facetrack/internal/gpuvision"
	"facetrack/vision"
)

// worker runs a chain of its own; others on the same networks may run at the same time.
type worker interface {
	capture(n int) error
	run(s *scene, n int) error
	clone() (worker, error)
	Close() error
}

func (o *Options) chain(ctx context.Context, d *gpuvision.Device, s *scene, c Chain, precision string) (rows []Row, err error) {
	first, graphs, err := c.open(d, gpuvision.Options{Precision: precision, MaxBatch: slices.Max(o.Batches)})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, first.Close()) }()
	second, err := first.clone()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, second.Close()) }()
	for _, batch := range o.Batches {
		if err := ctx.Err(); err != nil {
			return rows, err
		}
		r := Row{Network: c.Name, Precision: precision, Batch: batch, Chain: true}
		if err := o.measureChain(s, [2]worker{first, second}, &r); err != nil {
			return rows, fmt.Errorf("batch %d: %w", batch, err)
		}
		if r.Floor, err = floor(d.Info(), precision, batch, graphs...); err != nil {
			return rows, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func (o *Options) measureChain(s *scene, workers [2]worker, r *Row) (err error) {
	for _, w := range workers {
		if err := w.capture(r.Batch); err != nil {
			return err
		}
	}
	if r.P50, r.P99, err = o.single(func() error { return workers[0].run(s, r.Batch) }); err != nil {
		return err
	}
	begin := time.Now()
	ended := make(chan error, len(workers))
	for _, w := range workers {
		go func() {
			for range o.Runs {
				if err := w.run(s, r.Batch); err != nil {
					ended <- err
					return
				}
			}
			ended <- nil
		}()
	}
	err = errors.Join(<-ended, <-ended)
	r.InARow = micros(time.Since(begin)) / float64(o.Runs*len(workers))
	return err
}

// open also returns the graphs of the chain.
func (c Chain) open(d *gpuvision.Device, o gpuvision.Options) (worker, []*infer.Graph, error) {
	if c.Detector != nil {
		x, err := gpuvision.NewDetector(d, c.Kind, c.Detector, vision.DetectorOptions{}, o)
		return detect{x}, []*infer.Graph{c.Detector}, err
	}
	// Nobody is in the picture: every region counts as a face, and none is tried again.
	everything := vision.LandmarkerOptions{PresenceThreshold: -1, Retries: -1}
	x, err := gpuvision.NewLandmarker(d, c.Landmarks, c.Blendshapes, everything, o)
	graphs := []*infer.Graph{c.Landmarks}
	if c.Blendshapes != nil {
		graphs = append(graphs, c.Blendshapes)
	}
	return find{x}, graphs, err
}

type detect struct{ *gpuvision.Detector }

func (w detect) capture(n int) error { return w.Capture(n) }

func (w detect) clone() (worker, error) {
	x, err := w.Clone()
	return detect{x}, err
}

func (w detect) run(s *scene, n int) error {
	sights, err := w.Detect(s.frames[:n])
	for i := range sights {
		err = errors.Join(err, sights[i].Err)
	}
	return err
}

type find struct{ *gpuvision.Landmarker }

func (w find) capture(n int) error { return w.Capture(n) }

func (w find) clone() (worker, error) {
	x, err := w.Clone()
	return find{x}, err
}

func (w find) run(s *scene, n int) error {
	found, err := w.Find(s.looks[:n])
	for i := range found {
		err = errors.Join(err, found[i].Err)
	}
	return err
}
