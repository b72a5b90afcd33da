package gpuvision

import (
	"errors"
	"fmt"

	"facetrack/infer"
	"facetrack/internal/kernels/faces"
	"facetrack/vision"
)

// Look is a frame and the regions to look at.
type Look struct {
	Frame
	ROIs []vision.ROI
}

// Found is what a Landmarker found in one Look.
type Found struct {
	Faces []faces.Result // one for each region, in order
	Err   error          // of this Look alone
}

// task is a region to look at, and where its result goes.
type task struct {
	look, face  int
	roi, origin vision.ROI // origin is what the caller asked for
}

// Find looks for a face in every region, present or not. As in package vision, a region below the presence threshold is tried
// again where its own points say the face is; only such regions are run again. Looks go in parts if the device has no memory for all
// frames that come from the host. An error is about all Looks and wraps the driver's.
func (x *Landmarker) Find(looks []Look) ([]Found, error) {
	if x.closed {
		return nil, infer.ErrClosed
	}
	x.expect(looks)
	defer clear(x.arrivals) // frames are the caller's
	found := make([]Found, len(looks))
	for begin, end := range x.intake.parts(x.pass.stream, x.arrivals) {
		x.begin(looks, found, begin, end)
		if err := x.findAll(found); err != nil {
			return nil, errors.Join(err, x.pass.stream.Synchronize())
		}
	}
	for i := range found {
		if found[i].Err != nil {
			found[i].Faces = nil
		}
	}
	return found, nil
}

// expect names the frames that are needed. A Look without any region has nothing to wait for.
func (x *Landmarker) expect(looks []Look) {
	x.arrivals = sized(x.arrivals, len(looks))
	for i := range looks {
		a := &x.arrivals[i]
		a.Frame, a.idle = &looks[i].Frame, len(looks[i].ROIs) == 0
		for k, roi := range looks[i].ROIs {
			if err := roi.Validate(); err != nil && a.err == nil {
				a.err = fmt.Errorf("region %d: %w", k, err)
			}
		}
	}
}

// begin lists the regions of the Looks from begin to end whose frames have arrived.
func (x *Landmarker) begin(looks []Look, found []Found, begin, end int) {
	x.tasks = x.tasks[:0]
	for i := begin; i < end; i++ {
		if found[i].Err = x.arrivals[i].err; found[i].Err != nil {
			continue
		}
		found[i].Faces = make([]faces.Result, len(looks[i].ROIs))
		for k, roi := range looks[i].ROIs {
			x.tasks = append(x.tasks, task{i, k, roi, roi})
		}
	}
}

func (x *Landmarker) findAll(found []Found) error {
	if err := x.locate(found); err != nil {
		return err
	}
	x.keep(found, 0)
	for range x.retries {
		if x.missed(found); len(x.tasks) == 0 {
			break
		}
		if err := x.locate(found); err != nil {
			return err
		}
		x.keep(found, x.threshold)
	}
	return nil
}

// keep notes the latest results of a presence or more.
func (x *Landmarker) keep(found []Found, presence float64) {
	for i, t := range x.tasks {
		if found[t.look].Err == nil && x.latest[i].Presence >= presence {
			found[t.look].Faces[t.face] = x.latest[i]
		}
	}
}

// missed leaves the tasks that are to be tried again, where the latest try says that the face is.
func (x *Landmarker) missed(found []Found) {
	again := x.tasks[:0]
	for i, t := range x.tasks {
		r := &x.latest[i]
		if found[t.look].Err == nil && r.Presence < x.threshold && r.HasNext && r.Region.Follows(t.origin) {
			t.roi = r.Region
			again = append(again, t)
		}
	}
	x.tasks = again
}
