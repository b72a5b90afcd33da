package links

import (
	"context"
	"sync"

	"github.com/nats-io/nats.go"

	"facetrack/ipc"
)

// Accept has the links attach to each ring that capture invites to, before its first frame comes. It ends with ctx or Close.
func (s *Set) Accept(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	sub, err := s.env.Bus.Subscribe(ipc.AllCameras(s.env.Config.Rig, ipc.KindInvite), func(m *nats.Msg) {
		i, err := ipc.DecodeInvitation(m.Data)
		if err != nil {
			s.env.Log.Warn("invitation ignored", "error", err)
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
	link, err := s.link(i.Camera)
	if err == nil {
		err = link.Attach(ctx, i.Ring)
	}
	if err != nil {
		answer.Error = err.Error() // its first frame tries again
	}
	s.settle()
	if err := answer.Answer(m); err != nil {
		s.env.Log.Debug("invitation not answered", "camera", i.Camera, "error", err)
	}
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
