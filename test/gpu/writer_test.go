//go:build cuda

package gpu

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"facetrack/gpuring"
	"facetrack/internal/cuda"
	"facetrack/internal/kernels"
)

// writer is the child that fills rings as fast as they take frames, and gives the tickets to every reader.
type writer struct {
	*puppet
	rings  []gpuring.Writer
	pipes  []int
	upload bool
	sums   written
}

func (w *writer) create(o order) answer {
	w.upload = o.Upload
	w.pipes = nil
	for i := range o.Readers {
		w.pipes = append(w.pipes, firstPipe+i)
		if err := syscall.SetNonblock(firstPipe+i, true); err != nil {
			return answer{Err: err.Error()}
		}
	}
	var a answer
	for i := range o.Rings {
		r, err := gpuring.Create(w.options(o, i))
		if err != nil {
			return answer{Err: err.Error()}
		}
		w.rings = append(w.rings, r)
		a.Descriptors = append(a.Descriptors, r.Descriptor())
	}
	return a
}

func (w *writer) options(o order, ring int) gpuring.Options {
	rowBytes, rows := plane(o.Shape)
	options := gpuring.Options{Dir: o.Dir, Rig: "gputest", Camera: fmt.Sprint("cam", ring), Geometry: o.Shape, GPU: w.gpu}
	switch {
	case !o.Upload:
		options.Fill = func(s *cuda.Stream, v gpuring.View, seq uint64) error {
			return w.set.Stamp(s, v.Device, rowBytes, rows, seq)
		}
	case o.Garbage > 0:
		garbage, err := w.gpu.AllocPinned(o.Shape.FrameBytes())
		if err != nil {
			w.say(answer{Err: err.Error()})
			return options
		}
		options.Fill = func(s *cuda.Stream, v gpuring.View, _ uint64) error {
			for range o.Garbage { // the slot is wrong for long, and right only at the end
				if err := s.Upload(v.Device, garbage.Bytes()); err != nil {
					return err
				}
			}
			return s.Upload(v.Device, v.Host)
		}
	}
	return options
}

// write fills the rings in turn until it is told to stop.
func (w *writer) write() {
	report := time.Now()
	for !w.stopped() {
		any := false
		for i := range w.rings {
			published, err := w.frame(i)
			if err != nil {
				w.say(answer{Err: err.Error()})
				return
			}
			any = any || published
		}
		if !any {
			time.Sleep(20 * time.Microsecond) // as a camera would give the readers time
		}
		if time.Since(report) > 50*time.Millisecond {
			w.report()
			report = time.Now()
		}
	}
	w.report()
}

func (w *writer) frame(ring int) (published bool, err error) {
	r := w.rings[ring]
	claim, err := r.Begin()
	if errors.Is(err, gpuring.ErrNoFreeSlot) {
		w.sums.Dropped++
		return false, nil
	}
	if err != nil {
		return false, err
	}
	seq := r.NextSeq()
	if w.upload {
		rowBytes, rows := plane(r.Geometry())
		kernels.StampHost(claim.View().Host, rowBytes, rows, seq)
	}
	t, err := claim.Publish(seq)
	if err != nil {
		return false, err
	}
	w.sums.Published++
	for _, pipe := range w.pipes {
		if !send(pipe, ticket{Ring: ring, Slot: t.Slot, Generation: t.Generation, Seq: t.Seq, Writer: r.Generation()}) {
			w.sums.Unsent++
		}
	}
	return true, nil
}

func (w *writer) report() {
	sums := w.sums
	for _, r := range w.rings {
		s := r.Stats()
		sums.Taken += s.ReclaimedStalled
		for _, reader := range s.Readers {
			if reader.Revoked {
				sums.Revoked++
			}
		}
	}
	w.say(answer{Written: &sums})
}
