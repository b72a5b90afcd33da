package links

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"facetrack/ipc"
)

// settleIn is how long a stage that is started beside cameras that run attaches to them before it takes frames.
const settleIn = time.Second

// Accept has the links attach to the rings that capture has, and from then on, before its first frame comes, to each that capture
// invites to. That ends with ctx or Close.
func (s *Set) Accept(ctx context.Context) error {
	if err := s.accept(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, settleIn)
	defer cancel()
	var all sync.WaitGroup
	for _, c := range s.env.Config.Cameras {
		all.Go(func() {
			if err := s.attachTo(ctx, c.Name, ""); err != nil {
				s.env.Log.Debug("not attached yet", "camera", c.Name, "error", err) // its first frame tries again
			}
		})
	}
	all.Wait()
	return nil
}

func (s *Set) accept(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	sub, err := s.env.Bus.Subscribe(ipc.AllCameras(s.env.Config.Rig, ipc.KindInvite), func(m *nats.Msg) {
		i, err := ipc.DecodeInvitation(m.Data)
		if err != nil {
			s.env.Log.Warn("invitation ignored", "error", err)
			return
		}
		if !s.env.Serves(i.Camera) {
			return
		}
		s.guests.enter(func() { s.attach(ctx, i, m) })
	})
	if err != nil {
		cancel()
		return err
	}
	s.guests.leave = func() {
		cancel()
		_ = sub.Unsubscribe() // nothing comes after the connection's end either
	}
	return nil
}

func (s *Set) attach(ctx context.Context, i ipc.Invitation, m *nats.Msg) {
	answer := ipc.Arrival{Identity: s.env.Name}
	if err := s.attachTo(ctx, i.Camera, i.Ring); err != nil {
		answer.Error = err.Error()
	}
	if err := answer.Answer(m); err != nil {
		s.env.Log.Debug("invitation not answered", "camera", i.Camera, "error", err)
	}
}

func (s *Set) attachTo(ctx context.Context, camera, ring string) error {
	link, err := s.link(camera)
	if err == nil {
		err = link.Attach(ctx, ring)
	}
	s.settle()
	return err
}

// guests are the invitations that are being followed.
type guests struct {
	leave func() // ends them; nil when none are taken

	mu     sync.Mutex
	closed bool
	all    sync.WaitGroup
}

func (g *guests) enter(follow func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.all.Go(follow)
	}
}

func (g *guests) close() {
	if g.leave != nil {
		g.leave()
	}
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.all.Wait()
}
