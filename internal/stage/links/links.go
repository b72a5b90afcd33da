// Package links keeps a consumer's link to the ring of every camera.
package links

import (
	"context"
	"errors"
	"os"
	"sync"

	"facetrack/gpuring"
	"facetrack/internal/clock"
	"facetrack/internal/stage"
	"facetrack/internal/telemetry"
	"facetrack/ipc"
	"facetrack/vision"
)

// Reasons of drop notices for frames whose pixels could not be used.
const (
	ReasonOverwritten = "overwritten" // the ring went on before this stage came to the frame
	ReasonRingClosed  = "ring-closed" // capture ended, was started again, or has replaced the ring
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

	guests    guests
	elsewhere sync.Once // frames on another GPU were told of
	warm      warmth
}

// New returns an empty set.
func New(env *stage.Env) *Set {
	s := &Set{env: env, links: map[string]*ipc.Link{}}
	s.warm.up(env)
	return s
}

// With leases the frame, hands its image, in host memory, to use and gives the lease back. Only when it returns "" the image was
// whole all the time; otherwise it returns the reason to drop the frame, and what use has computed is void.
func (s *Set) With(ctx context.Context, f *ipc.Frame, use func(vision.Image) error) (dropReason string, err error) {
	held, dropReason, err := s.Hold(ctx, f, nil)
	if err != nil {
		return dropReason, err
	}
	return held.Release(use(held.Image))
}

func reason(err error) string {
	switch {
	case errors.Is(err, gpuring.ErrDevice):
		return ReasonGPU
	case errors.Is(err, gpuring.ErrTorn):
		return ReasonTorn
	case errors.Is(err, gpuring.ErrClosed), errors.Is(err, ipc.ErrOtherRing):
		return ReasonRingClosed
	case errors.Is(err, gpuring.ErrStale):
		return ReasonOverwritten
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
		Dir: s.env.Config.Ring.Dir, Group: s.env.Config.IPC.Group, Logger: s.env.Log, Allow: allowed(s.env.Config.Ring.Transports),
		GPU: s.env.Config.CUDA.GPU, Sync: gpuring.Sync(s.env.Config.CUDA.Sync), Stuck: s.stuck, Changed: s.changed,
	})
	if err != nil {
		return nil, err
	}
	s.links[camera] = l
	s.env.Telemetry.SetLink(camera, func() telemetry.Link { return report(l.Status()) })
	return l, nil
}

// changed announces that a camera's pixels come in another way.
func (s *Set) changed(st ipc.LinkStatus) (told bool) {
	e := ipc.Event{
		Camera: st.Camera, Stage: s.env.Name, Event: ipc.EventTransport, Value: string(st.Transport), Reason: st.Reason, TimeNS: clock.Now(),
	}
	if err := s.env.Publish(st.Camera, ipc.KindEvents, &e); err != nil {
		s.env.Log.Debug("change of transport not announced", "camera", st.Camera, "error", err)
		return false
	}
	return true
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

// Forget gives the link to a camera back that is not to come again.
func (s *Set) Forget(camera string) {
	s.mu.Lock()
	l := s.links[camera]
	delete(s.links, camera)
	s.mu.Unlock()
	if l == nil {
		return
	}
	if err := l.Close(); err != nil {
		s.env.Log.Debug("link not given back", "camera", camera, "error", err)
	}
}

// Close gives all links back.
func (s *Set) Close() error {
	s.guests.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for name, l := range s.links {
		errs = append(errs, l.Close())
		delete(s.links, name)
	}
	return errors.Join(append(errs, s.warm.close())...)
}
