package hosts

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"facetrack/internal/clock"
	"facetrack/internal/config"
	"facetrack/ipc"
)

const (
	lookEvery = 100 * time.Millisecond // whether anything has changed
	tellEvery = time.Second            // although nothing has
)

// Options are what the merging needs.
type Options struct {
	Bus    *nats.Conn
	Config config.Config
	Log    *slog.Logger
	// Frame takes a frame of another host, on this host's clock; place is its camera, takenNS when the picture was taken. Those of one host come in order.
	Frame func(place string, t *ipc.Tracks, takenNS int64)
}

// Hosts follows the other hosts of a hub.
type Hosts struct {
	o      Options
	links  []*link
	people *people
	subs   []*nats.Subscription
	cancel context.CancelFunc
	all    sync.WaitGroup
	news   chan struct{} // a host came or went
}

// Start follows the hosts that the configuration names, until Close. Without any it is nil, which does nothing.
func Start(ctx context.Context, o Options) (*Hosts, error) {
	if len(o.Config.Hosts) == 0 {
		return nil, nil //nolint:nilnil // nobody to follow is no error
	}
	h := &Hosts{o: o, people: newPeople(), news: make(chan struct{}, 1)}
	ctx, h.cancel = context.WithCancel(ctx)
	for _, rig := range o.Config.HostNames() {
		l := newLink(o.Bus, rig, o.Log)
		h.links = append(h.links, l)
		if err := h.hear(l); err != nil {
			_ = h.Close()
			return nil, err
		}
		h.all.Go(func() { l.run(ctx, h.changed) })
	}
	h.all.Go(func() { h.tell(ctx) })
	return h, nil
}

func (h *Hosts) changed() {
	select {
	case h.news <- struct{}{}:
	default: // it is going to be told
	}
}

// hear subscribes to what comes from a host. Frames and ends take one subscription each: an end says only that another frame begins anew.
func (h *Hosts) hear(l *link) error {
	for kind, handle := range map[ipc.Kind]func(*link, []byte){ipc.KindTracks: h.tracks, ipc.KindEnd: h.end} {
		sub, err := h.o.Bus.Subscribe(ipc.AllCameras(l.rig, kind), func(m *nats.Msg) {
			if !ipc.FromStream(m) {
				handle(l, m.Data)
			}
		})
		if err != nil {
			return fmt.Errorf("listen to rig %s: %w", l.rig, err)
		}
		h.subs = append(h.subs, sub)
	}
	return nil
}

func (h *Hosts) tracks(l *link, data []byte) {
	t, err := ipc.DecodeTracksWithoutPoints(data)
	if err != nil {
		l.log.Warn("tracks message ignored", "error", err)
		return
	}
	taken, wrong, ok := l.take(&t)
	if !ok {
		return
	}
	h.people.saw(h.o.Config.Rig, l.rig, &t, wrong)
	h.o.Frame(ipc.Place(l.rig, t.Camera), &t, taken)
}

func (h *Hosts) end(l *link, data []byte) {
	if e, err := ipc.DecodeEnd(data); err == nil {
		l.forget(e.Camera)
	}
}

// Own takes a frame of one of this host's own cameras.
func (h *Hosts) Own(t *ipc.Tracks) {
	if h != nil {
		h.people.saw(h.o.Config.Rig, "", t, 0)
	}
}

// State is how the other hosts are reached.
func (h *Hosts) State() (all []ipc.Host) {
	if h == nil {
		return nil
	}
	for _, l := range h.links {
		all = append(all, l.now())
	}
	return all
}

// Close stops following.
func (h *Hosts) Close() error {
	if h == nil {
		return nil
	}
	h.cancel()
	for _, s := range h.subs {
		_ = s.Unsubscribe() // fails on a connection that is closed
	}
	h.all.Wait()
	return nil
}

// tell publishes who is where: at once when that changes, else now and then.
func (h *Hosts) tell(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var told string
	var at time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.news:
		case <-tick.C:
		}
		m := h.message()
		if now := essence(m); now != told || time.Since(at) >= tellEvery {
			told, at = now, time.Now()
			h.publish(m)
		}
	}
}

func (h *Hosts) message() *ipc.Participants {
	now := clock.Now()
	return &ipc.Participants{Rig: h.o.Config.Rig, TimeNS: now, WallNS: clock.Wall(), Hosts: h.State(), Participants: h.people.now(now)}
}

func (h *Hosts) publish(m *ipc.Participants) {
	data, err := json.Marshal(m)
	if err == nil {
		err = h.o.Bus.Publish(ipc.ParticipantsSubject(h.o.Config.Rig), data)
	}
	if err != nil {
		h.o.Log.Debug("participants not told", "error", err)
	}
}

// essence is what of a message is news when it changes: who is there, where, and which hosts are.
func essence(m *ipc.Participants) string {
	var b []byte
	for _, h := range m.Hosts {
		b = fmt.Appendf(b, "%s %v %v\n", h.Rig, h.Up, h.Clock != nil)
	}
	for _, p := range m.Participants {
		b = fmt.Appendf(b, "%s %v", p.Name, p.Present)
		for _, at := range p.Places {
			b = fmt.Appendf(b, " %s/%s:%d", at.Rig, at.Camera, at.ID)
		}
		b = append(b, '\n')
	}
	return string(b)
}
