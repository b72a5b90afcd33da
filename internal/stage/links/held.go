package links

import (
	"context"
	"errors"
	"fmt"

	"facetrack/gpuring"
	"facetrack/internal/cuda"
	"facetrack/internal/gpuvision"
	"facetrack/ipc"
	"facetrack/vision"
)

// Held is a frame whose pixels stay as they are until Release.
type Held struct {
	Image  vision.Image // without Pix when the pixels are in device memory alone
	Device uint64       // where they are on the GPU that was asked for; 0: not there

	lease ipc.Lease
}

// Hold leases the frame. Its pixels are left where they are if that is device memory that gpu reads; otherwise, and always
// without a GPU, they are in host memory. Without an error, Release has to be called; else there is a reason to drop the frame.
func (s *Set) Hold(ctx context.Context, f *ipc.Frame, gpu *cuda.UUID) (held *Held, dropReason string, err error) {
	link, err := s.link(f.Camera)
	if err != nil {
		return nil, ReasonUnreachable, err
	}
	lease, err := link.Lease(ctx, *f)
	if err != nil {
		return nil, reason(err), err
	}
	held = &Held{lease: lease, Image: vision.Image{Format: vision.Format(f.Format), Width: f.Width, Height: f.Height}}
	if held.Device, err = s.onDevice(link, lease, f, gpu); err != nil {
		dropReason, err = held.Release(err)
		return nil, dropReason, err
	}
	if held.Device != 0 {
		s.settle()
		return held, "", nil
	}
	if err := held.bring(ctx, link, f); err != nil {
		return nil, reason(err), err
	}
	s.settle()
	if err := held.Image.Validate(); err != nil {
		dropReason, err = held.Release(err)
		return nil, dropReason, err
	}
	return held, "", nil
}

// onDevice is the address of a leased frame for gpu, 0 when it has none there. What a ring holds under its name does not change,
// so the link's answer fits the lease.
func (s *Set) onDevice(link *ipc.Link, lease ipc.Lease, f *ipc.Frame, gpu *cuda.UUID) (uint64, error) {
	address := lease.View().Device
	if gpu == nil || address == 0 {
		return 0, nil
	}
	reach, ok := link.Reaches(f.Ring)
	if !ok || reach.GPU == "" {
		return 0, nil
	}
	if reach.GPU != gpu.String() {
		s.elsewhere.Do(func() {
			s.env.Log.Warn("frames are on another GPU than the networks: each goes through host memory; name one GPU in cuda.gpu",
				"camera", f.Camera, "frames", reach.GPU, "networks", gpu.String())
		})
		return 0, nil
	}
	need, err := vision.FrameBytes(vision.Format(f.Format), f.Width, f.Height)
	if err == nil && need > reach.FrameBytes {
		err = fmt.Errorf("%w: %s of %d×%d needs %d bytes, the ring's frames have %d", vision.ErrImage, f.Format, f.Width, f.Height, need, reach.FrameBytes)
	}
	return address, err
}

// bring has the pixels in host memory. When the GPU fails at that, the frame comes over the next transport; the first lease
// keeps its slot for so long. After an error nothing is held.
func (h *Held) bring(ctx context.Context, link *ipc.Link, f *ipc.Frame) (err error) {
	if h.Image.Pix, err = h.lease.Host(); err == nil {
		return nil
	}
	next, again := link.Lease(ctx, *f)
	_ = h.lease.Release() // nothing was read under it
	if again != nil {
		return errors.Join(err, again)
	}
	h.lease = next
	if h.Image.Pix, again = next.Host(); again != nil {
		return errors.Join(err, again, next.Release())
	}
	return nil
}

// Wait makes a stream of the GPU wait until the pixels at Device are there; see gpuring.Fence.
func (h *Held) Wait(s *cuda.Stream) error { return h.lease.View().Fence.Wait(s) }

// Frame is what networks on the GPU take.
func (h *Held) Frame() gpuvision.Frame {
	f := gpuvision.Frame{Image: h.Image, Device: h.Device}
	if h.Device != 0 {
		f.Wait = h.Wait
	}
	return f
}

// Release gives the frame back, with the error of its use, if any; work on the GPU has ended before. Only when it returns ""
// the pixels were whole all the time; otherwise it returns the reason to drop the frame, and what was computed is void.
func (h *Held) Release(used error) (dropReason string, err error) {
	err = h.lease.Release()
	if errors.Is(used, gpuring.ErrDevice) { // that work did not end in order is no news then
		return ReasonGPU, used
	}
	if err != nil {
		return reason(err), err
	}
	switch {
	case used == nil:
		return "", nil
	case errors.Is(used, vision.ErrImage):
		return ReasonBadFrame, used
	}
	return ReasonInference, used
}

// Prompt tells whether Hold waits for nobody: the link is attached to the frame's ring, and its pixels are on this machine.
func (s *Set) Prompt(f *ipc.Frame) bool {
	s.mu.Lock()
	link := s.links[f.Camera]
	s.mu.Unlock()
	if link == nil {
		return false
	}
	reach, ok := link.Reaches(f.Ring)
	return ok && reach.Transport != ipc.Copy
}

// Outcome is what became of a frame: with a reason to drop it, what was computed is void.
type Outcome struct {
	Reason string
	Err    error
}

// WithAll holds frames for work on a GPU, hands those that it has to use and gives them back. at tells which of frames each is. use
// returns an error for each of them, or one for all, with which the GPU has failed.
func (s *Set) WithAll(ctx context.Context, frames []ipc.Frame, gpu cuda.UUID, use func(held []*Held, at []int) ([]error, error)) []Outcome {
	outcomes := make([]Outcome, len(frames))
	var held []*Held
	var at []int
	for i := range frames {
		h, reason, err := s.Hold(ctx, &frames[i], &gpu)
		if err != nil {
			outcomes[i] = Outcome{reason, err}
			continue
		}
		held, at = append(held, h), append(at, i)
	}
	if len(held) == 0 {
		return outcomes
	}
	each, failed := use(held, at)
	for k, h := range held {
		err := fmt.Errorf("%w: %w", gpuring.ErrDevice, failed)
		if failed == nil {
			err = each[k]
		}
		o := &outcomes[at[k]]
		o.Reason, o.Err = h.Release(err)
	}
	return outcomes
}
