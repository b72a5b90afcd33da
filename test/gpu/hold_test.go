//go:build cuda

package gpu

import (
	"errors"

	"facetrack/gpuring"
	"facetrack/internal/cuda"
)

// hold leases frames and keeps them, with GPU work under way that takes long.
func (p *puppet) hold(o order) answer {
	r, err := p.newReader(o, o.From[0])
	if err == nil && o.Copies {
		err = r.holdCopying()
	} else if err == nil {
		err = r.holdLooking()
	}
	return answer{Err: text(err), Holding: len(r.batch)}
}

// holdLooking queues kernels.
func (r *reader) holdLooking() error {
	var sums tally
	for _, k := range r.o.Tickets {
		if err := r.queue(k.of(r.d), &sums); err != nil {
			return err
		}
	}
	return nil
}

// holdCopying downloads the frames again and again.
func (r *reader) holdCopying() error {
	var frames []uint64
	for _, k := range r.o.Tickets {
		lease, err := r.r.Lease(k.of(r.d))
		if err != nil {
			return err
		}
		r.batch, frames = append(r.batch, lease), append(frames, lease.View().Device)
		if err := lease.View().Fence.Wait(r.stream); err != nil {
			return err
		}
	}
	if err := r.stream.Synchronize(); err != nil {
		return err
	}
	// Two take turns: while one is waited for, the other has work.
	var copiers [2]*copier
	for i := range copiers {
		var err error
		if copiers[i], err = newCopier(r.gpu, r.d.Geometry); err != nil {
			return err
		}
		if err := copiers[i].queue(frames); err != nil {
			return err
		}
	}
	r.begin(func() {
		for i := 0; !r.stopped(); i = 1 - i {
			if err := errors.Join(copiers[i].stream.Synchronize(), copiers[i].queue(frames)); err != nil {
				r.say(answer{Err: err.Error()})
				return
			}
		}
	})
	return nil
}

// copier downloads frames on a stream of its own.
type copier struct {
	stream *cuda.Stream
	to     *cuda.Pinned
}

func newCopier(gpu *cuda.Context, g gpuring.Geometry) (*copier, error) {
	stream, err := gpu.NewStream()
	if err != nil {
		return nil, err
	}
	to, err := gpu.AllocPinned(g.FrameBytes())
	return &copier{stream, to}, err
}

func (c *copier) queue(frames []uint64) error {
	const times = 50 // some milliseconds on a GPU
	for range times {
		for _, frame := range frames {
			if err := c.stream.Download(c.to.Bytes(), frame); err != nil {
				return err
			}
		}
	}
	return nil
}
