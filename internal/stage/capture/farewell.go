package capture

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"facetrack/gpuring"
	"facetrack/internal/cuda"
)

// limits bound what a camera waits for; tests have others.
type limits struct {
	stall   time.Duration // of uploads, until the GPU is given up
	linger  time.Duration // of stages that still have frames of an old ring
	goodbye time.Duration // of all that is closed, when a camera has to go on or to end
	note    time.Duration // of the bucket, to store that a ring has ended
	call    time.Duration // of one call of the driver, until the process is given up
	guests  time.Duration // of stages that should attach to a ring before its camera's first frame
}

// An upload takes a millisecond; a frame that is late by the patience is lost anyway. The last frames, the note and the goodbye
// together are shorter than what a service manager or facetrack up grants (5 s).
var usual = limits{stall: patience, linger: patience, goodbye: 2250 * time.Millisecond, note: 500 * time.Millisecond, call: 5 * time.Second, guests: time.Second}

// farewell is the end of a ring, behind the camera's back: the stages come to its last frames, the other processes let go of its
// memory, the driver frees it.
type farewell struct {
	ring  gpuring.Writer
	gpu   *cuda.Context // the ring's; nil in host memory
	left  func() bool   // the stages have done with its frames
	log   *slog.Logger
	hurry context.CancelFunc // ends the stages' time
	over  chan struct{}      // closed when there is nothing to wait for any more, with err
	err   error
	freed chan struct{} // closed when nothing is left of the ring: later than over, if uploads hang
}

// part begins the farewell of a ring.
func (c *camera) part(ring gpuring.Writer, gpu *cuda.Context) *farewell {
	ctx, hurry := context.WithTimeout(context.Background(), c.limits.linger)
	end := c.flight.end()
	f := &farewell{
		ring: ring, gpu: gpu, left: func() bool { return c.flight.passed(end) }, hurry: hurry, over: make(chan struct{}), freed: make(chan struct{}),
		log: c.env.Log.With("camera", c.cfg.Name, "ring", ring.ID()),
	}
	c.leaving = append(c.leaving, f)
	go f.run(ctx)
	return f
}

func (f *farewell) run(ctx context.Context) {
	defer close(f.over)
	f.linger(ctx)
	f.hurry()
	if f.err = f.ring.Close(); !f.late() {
		f.err = errors.Join(f.err, f.gpu.Close())
		close(f.freed)
	}
	if f.err != nil {
		f.log.Warn("old ring did not close", "error", f.err)
	}
	if f.late() {
		go f.outlast()
	}
}

// late tells whether uploads have outlived the ring's end.
func (f *farewell) late() bool { return errors.Is(f.err, gpuring.ErrUploading) }

// outlast frees the ring when the GPU has come back.
func (f *farewell) outlast() {
	const pause = 100 * time.Millisecond
	err := f.ring.Close()
	for ; errors.Is(err, gpuring.ErrUploading); err = f.ring.Close() {
		time.Sleep(pause)
	}
	if err = errors.Join(err, f.gpu.Close()); err != nil {
		f.log.Warn("old ring did not close", "error", err)
	}
	close(f.freed)
}

// linger keeps the ring readable until the stages have done with its frames.
func (f *farewell) linger(ctx context.Context) {
	const pause = 5 * time.Millisecond
	for !f.left() && !f.cut() {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// cut tells whether a frame of the ring will not come to the GPU. A process that waits for it, and keeps the frames behind it
// waiting, is let go only when the ring closes.
func (f *farewell) cut() bool {
	const late = 100 * time.Millisecond
	return f.ring.UploadStall() > late || f.ring.Stats().UploadsLost > 0
}

// ended tells whether everything was freed, or given back by a driver that has failed.
func (f *farewell) ended() bool {
	select {
	case <-f.freed:
		return true
	default:
		return false
	}
}

// settle ends the farewells. What the driver keeps from its end is left to the process's.
func (c *camera) settle() error {
	ctx, cancel := context.WithTimeout(context.Background(), c.limits.goodbye)
	defer cancel()
	for _, f := range c.leaving {
		f.hurry()
	}
	var all []error
	for _, f := range c.leaving {
		select {
		case <-f.over:
			all = append(all, f.err)
			if f.late() {
				c.gpus.hang(f, hang{fmt.Sprintf("the GPU has not ended the uploads of ring %s", f.ring.ID())})
			}
		case <-ctx.Done():
			all = append(all, f.leaveBehind(c.gpus, c.limits.goodbye))
		}
	}
	c.leaving = nil
	return errors.Join(all...)
}

// leaveBehind gives up waiting, and keeps the process from using the GPU until it comes back.
func (f *farewell) leaveBehind(g *gpus, after time.Duration) error {
	err := hang{fmt.Sprintf("the driver has not freed ring %s for %v", f.ring.ID(), after)}
	f.log.Warn("old ring did not close", "error", err)
	if f.gpu != nil {
		g.hang(f, err)
	}
	return err
}
