// Package links keeps a consumer's link to the ring of every camera.
package links

import (
	"context"
	"errors"
	"os"
	"sync"

	"facetrack/gpuring"
	"facetrack/internal/stage"
	"facetrack/internal/telemetry"
	"facetrack/ipc"
	"facetrack/vision"
)

// Reasons of drop notices for frames whose pixels could not be used.
const (
	ReasonOverwritten = "overwritten" // the ring went on before this stage came to the frame
	ReasonRingClosed  = "ring-closed" // capture ended or was started again
	ReasonRevoked     = "revoked"     // this process stood still for so long that its lease was taken away
	ReasonTorn        = "torn"        // the GPU read the frame before its upload was complete
	ReasonGPU         = "gpu"         // the GPU failed, and no other transport had the frame any more
	ReasonUnreachable = "unreachable" // capture does not answer
	ReasonBadFrame    = "bad-frame"   // the pixels do not fit the message
	ReasonInference   = "inference"   // a network failed
	ReasonQueueFull   = "queue-full"  // newer frames waited
	ReasonBus         = "bus"         // the message could not be sent
)

// Set holds one link a camera, made when its first frame comes. It is safe for concurrent use.
type Set struct {
	env *stage.Env

	mu    sync.Mutex
	links map[string]*ipc.Link

	warm warmth
}

// New returns an empty set.
func New(env *stage.Env) *Set {
	s := &Set{env: env, links: map[string]*ipc.Link{}}
	s.warm.up(env)
	return s
}

// With leases the frame, hands its image to use and gives the lease back. Only when it returns "" the image was
// whole all the time; otherwise it returns the reason to drop the frame, and what use has computed is void.
//
// The image is in host memory, because the networks run on the CPU: a frame that lies in device memory is downloaded for
// them. A network on the GPU takes the address in the lease's view instead.
func (s *Set) With(ctx context.Context, f *ipc.Frame, use func(vision.Image) error) (dropReason string, err error) {
	link, err := s.link(f.Camera)
	if err != nil {
		return ReasonUnreachable, err
	}
	lease, pixels, err := hold(ctx, link, f)
	if err != nil {
		return reason(err), err
	}
	s.settle()
	image := vision.Image{Format: vision.Format(f.Format), Width: f.Width, Height: f.Height, Pix: pixels}
	useErr := image.Validate()
	dropReason = ReasonBadFrame
	if useErr == nil {
		useErr = use(image)
		dropReason = ReasonInference
	}
	if err := lease.Release(); err != nil {
		return reason(err), err
	}
	if useErr != nil {
		return dropReason, useErr
	}
	return "", nil
}

// hold leases the frame and has its pixels in host memory. When the GPU fails at that, the frame comes over the next
// transport; the first lease keeps its slot for so long.
func hold(ctx context.Context, link *ipc.Link, f *ipc.Frame) (ipc.Lease, []byte, error) {
	lease, err := link.Lease(ctx, *f)
	if err != nil {
		return nil, nil, err
	}
	pixels, failed := lease.Host()
	if failed == nil {
		return lease, pixels, nil
	}
	next, err := link.Lease(ctx, *f)
	_ = lease.Release() // nothing was read under it
	if err != nil {
		return nil, nil, errors.Join(failed, err)
	}
	if pixels, err = next.Host(); err != nil {
		return nil, nil, errors.Join(failed, err, next.Release())
	}
	return next, pixels, nil
}

func reason(err error) string {
	switch {
	case errors.Is(err, gpuring.ErrDevice):
		return ReasonGPU
	case errors.Is(err, gpuring.ErrTorn):
		return ReasonTorn
	case errors.Is(err, gpuring.ErrStale):
		return ReasonOverwritten
	case errors.Is(err, gpuring.ErrClosed):
		return ReasonRingClosed
	case errors.Is(err, gpuring.ErrRevoked):
		return ReasonRevoked
	}
	return ReasonUnreachable
}

func (s *Set) link(camera string) (*ipc.Link, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.links[camera]; l != nil {
		return l, nil
	}
	l, err := ipc.NewLink(s.env.Bus, s.env.Config.Rig, camera, s.env.Name, ipc.LinkOptions{
		Dir: s.env.Config.Ring.Dir, Logger: s.env.Log, Allow: allowed(s.env.Config.Ring.Transports),
		GPU: s.env.Config.CUDA.GPU, Sync: gpuring.Sync(s.env.Config.CUDA.Sync), Stuck: s.stuck,
	})
	if err != nil {
		return nil, err
	}
	s.links[camera] = l
	s.env.Telemetry.SetLink(camera, func() telemetry.Link { return report(l.Status()) })
	return l, nil
}

// exit ends the process; tests replace it.
var exit = os.Exit

// stuck ends this process: a worker waits in the driver for ever, and not even its GPU context can be closed. Whoever
// started the process starts it again.
func (s *Set) stuck(err error) {
	s.env.Log.Error("the GPU waits for ever for a capture process that was killed; this process ends to be started again", "error", err)
	exit(1)
}

func allowed(names []string) []ipc.Transport {
	out := make([]ipc.Transport, len(names))
	for i, n := range names {
		out[i] = ipc.Transport(n)
	}
	return out
}

func report(st ipc.LinkStatus) telemetry.Link {
	out := telemetry.Link{
		Transport: string(st.Transport), Reason: st.Reason, Sync: st.Sync, GPU: st.GPU, Reattach: uint64(st.Reattaches),
	}
	for _, a := range st.Attempts {
		out.Attempts = append(out.Attempts, telemetry.Attempt{Transport: string(a.Transport), Reason: a.Reason})
	}
	return out
}

// settle lets the GPU cool down once every camera's link has found its transport.
func (s *Set) settle() {
	if !s.warm.is() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.env.Config.Cameras {
		if s.links[c.Name] == nil {
			return
		}
	}
	for _, l := range s.links {
		if l.Status().Since.IsZero() {
			return
		}
	}
	s.warm.down()
}

// Close gives all links back.
func (s *Set) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for name, l := range s.links {
		errs = append(errs, l.Close())
		delete(s.links, name)
	}
	return errors.Join(append(errs, s.warm.close())...)
}
