package gpuvision

import (
	"errors"

	"facetrack/infer"
	"facetrack/vision"
)

// Sight is what a Detector saw in one frame.
type Sight struct {
	Faces []vision.Face // best score first
	Err   error         // of this frame alone
}

// Detect looks at frames of any sizes and formats, in parts if the device has no memory for all that come from the host.
// An error is about all of them and wraps the driver's.
func (x *Detector) Detect(frames []Frame) ([]Sight, error) {
	if x.closed {
		return nil, infer.ErrClosed
	}
	if err := x.tables.thin(); err != nil {
		return nil, err
	}
	x.arrivals = sized(x.arrivals, len(frames))
	defer clear(x.arrivals) // frames are the caller's
	for i := range frames {
		x.arrivals[i].Frame = &frames[i]
	}
	sights := make([]Sight, len(frames))
	for begin, end := range x.intake.parts(x.pass.stream, x.arrivals) {
		if err := x.look(sights, begin, end); err != nil {
			return nil, errors.Join(err, x.pass.stream.Synchronize())
		}
	}
	return sights, nil
}

// look runs the frames from begin to end that have arrived, as many at a time as there is room for.
func (x *Detector) look(sights []Sight, begin, end int) error {
	p := x.pass
	items, which := p.up[:0], x.which[:0]
	for i := begin; i < end; i++ {
		f := &x.arrivals[i]
		if f.err == nil {
			items, f.err = x.append(items, f)
		}
		if sights[i].Err = f.err; f.err != nil {
			continue
		}
		if which = append(which, i); len(which) == p.most {
			if err := x.run(which, sights); err != nil {
				return err
			}
			items, which = p.up[:0], which[:0]
		}
	}
	x.which = which
	if len(which) == 0 {
		return p.stream.Synchronize() // waits and uploads in vain
	}
	return x.run(which, sights)
}

// append adds the item of a frame.
func (x *Detector) append(items []byte, f *arrival) ([]byte, error) {
	fit, err := x.tables.of(x.pass.stream, f.Image)
	if err != nil {
		return items, err
	}
	return fit.Append(items, f.address, fit.table)
}

func (x *Detector) run(which []int, sights []Sight) error {
	if err := x.pass.run(len(which)); err != nil {
		return err
	}
	for k, i := range which {
		sights[i].Faces, _, sights[i].Err = x.reduction.Parse(x.pass.of(k))
	}
	return nil
}
