// Package replay feeds what a rig has stored through a tracker again.
//
// It says on another rig's subjects what the landmarks stage has said in a session, in its order. How fast, and what becomes of the
// instants at which frames were captured:
//
//   - [Realtime]: as far apart as they were. The first frame is captured now, and all others as long after it as they were.
//   - a factor: so many times faster. Capture instants come closer together accordingly, and each frame keeps the time of the session
//     as that of a recording (ipc.Frame.MediaNS), by which a tracker measures.
//   - [Max]: as fast as the tracker is done with them. The same; each frame is captured when it is fed.
//
// However fast, no more than a few frames of a camera are under way, so that a tracker that is behind drops none. What it finds is given
// back with the instants of the session.
package replay

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"facetrack/internal/clock"
	"facetrack/internal/store"
	"facetrack/ipc"
)

// Speed is how many times faster than it was a session goes by; [Max] is as fast as it can.
type Speed float64

// Speeds with a name.
const (
	Realtime Speed = 1
	Max      Speed = 0
)

// ParseSpeed reads realtime, max or a factor.
func ParseSpeed(text string) (Speed, error) {
	switch text {
	case "realtime":
		return Realtime, nil
	case "max":
		return Max, nil
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && f >= 0.01 && f <= 1000 {
		return Speed(f), nil
	}
	return 0, fmt.Errorf("--speed=%s: it must be realtime, max, or how many times faster, 0.01 to 1000", text)
}

// Kinds are what a replay reads of a session.
var Kinds = []string{"landmarks", "end", "events", "drops"}

const (
	underWay = 32               // frames of a camera, half of what the tracker lets wait
	patience = 10 * time.Second // without news of a frame: the tracker is gone, or has not taken it for a frame
)

// Options say what is fed where.
type Options struct {
	NC    *nats.Conn // to the server of the rig that is fed
	Rig   string     // its name
	Speed Speed
	// Read gives the stored messages of the Kinds, in order.
	Read func(ctx context.Context, f func(store.Message) error) error
	// Heard gets what the rig makes of it, and what was stored beside it, one after the other, with the instants of the session; may
	// be nil.
	Heard func(m ipc.Message)
	Log   *slog.Logger
}

// Replay is one that runs.
type Replay struct {
	Options
	out   *ipc.Publisher
	times times
	heard chan *nats.Msg

	giving sync.Mutex // one call of Heard at a time

	mu      sync.Mutex
	cameras map[string]*camera
	moved   int64 // of the time of frames, from the session's to this; see ipc.Synchrony
	offset  int64 // of CLOCK_MONOTONIC to the time of the frames, in the session
	news    chan struct{}
}

// pending is how many messages of the rig may wait here.
const pending = 1 << 14

// New listens to the rig that will be fed.
func New(o Options) (*Replay, error) {
	r := &Replay{
		Options: o, out: ipc.NewPublisher(o.NC), times: times{speed: o.Speed, now: clock.Now}, heard: make(chan *nats.Msg, pending),
		cameras: map[string]*camera{}, news: make(chan struct{}, 1),
	}
	for _, subject := range []string{
		ipc.AllCameras(o.Rig, ipc.KindTracks), ipc.AllCameras(o.Rig, ipc.KindDrops), ipc.SynchronySubject(o.Rig, ipc.Any, ipc.Any),
	} {
		if _, err := o.NC.ChanSubscribe(subject, r.heard); err != nil {
			return nil, fmt.Errorf("listen to rig %s: %w", o.Rig, err)
		}
	}
	return r, o.NC.Flush()
}

// Run feeds the session and returns when the tracker is done with it, or ctx is. settled is called in between: once it has returned,
// everything that the rig has to say was said.
func (r *Replay) Run(ctx context.Context, settled func()) error {
	over := make(chan struct{})
	var listener sync.WaitGroup
	listener.Go(func() { r.listen(over) })
	err := r.Read(ctx, func(m store.Message) error { return r.feed(ctx, m) })
	if err == nil {
		err = r.wait(ctx, "", 1)
	}
	if settled != nil {
		settled()
	}
	if flushed := r.NC.FlushTimeout(patience); err == nil {
		err = flushed
	}
	close(over)
	listener.Wait()
	return err
}

// feed says one stored message again.
func (r *Replay) feed(ctx context.Context, m store.Message) error {
	_, name, kind, err := ipc.ParseSubject(m.Subject)
	if err != nil {
		return err
	}
	switch kind {
	case ipc.KindLandmarks:
		return r.landmarks(ctx, name, m.Data)
	case ipc.KindDrops:
		d, err := ipc.DecodeDrop(m.Data)
		if err != nil {
			return r.ignored(kind, err)
		}
		r.with(name, func(c *camera) { c.droppedThen(&d) })
	case ipc.KindEnd:
		e, err := ipc.DecodeEnd(m.Data)
		if err != nil {
			return r.ignored(kind, err)
		}
		if e.Reason != ipc.EndWithoutFrames {
			r.with(name, func(c *camera) { c.end = max(c.end, e.LastSeq+1) }) // the last frames may follow
		}
		r.give(&e)
		return r.out.Publish(ipc.Subject(r.Rig, name, kind), &e)
	case ipc.KindEvents:
		e, err := ipc.DecodeEvent(m.Data)
		if err != nil {
			return r.ignored(kind, err)
		}
		r.give(&e)
		moved := e
		moved.TimeNS = r.times.instant(e.TimeNS)
		return r.out.Publish(ipc.Subject(r.Rig, name, kind), &moved)
	}
	return nil
}

func (r *Replay) ignored(kind ipc.Kind, err error) error {
	r.Log.Warn("stored message left out", "kind", kind, "error", err)
	return nil
}

func (r *Replay) landmarks(ctx context.Context, name string, data []byte) error {
	l, err := ipc.DecodeLandmarks(data)
	if err != nil {
		r.with(name, func(c *camera) { c.account.Unreadable++ })
		return r.ignored(ipc.KindLandmarks, err)
	}
	known := false
	r.with(name, func(c *camera) { known = !c.read(l.Seq) })
	if known {
		return nil
	}
	if err := r.wait(ctx, name, underWay); err != nil {
		return err
	}
	if err := r.times.due(ctx, &l.Frame); err != nil {
		return err
	}
	then := l.Frame
	r.times.move(&l.Frame)
	r.mu.Lock()
	r.camera(name).open[l.Seq] = flying{then, time.Now()}
	r.moved, r.offset = l.TimeNS()-then.TimeNS(), then.CaptureNS-then.TimeNS()
	r.mu.Unlock()
	return r.out.Publish(ipc.Subject(r.Rig, name, ipc.KindLandmarks), &l)
}

// with works on what is known of a camera.
func (r *Replay) with(name string, f func(*camera)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(r.camera(name))
}

func (r *Replay) camera(name string) *camera {
	c := r.cameras[name]
	if c == nil {
		c = newCamera()
		r.cameras[name] = c
	}
	return c
}

// wait returns once fewer than limit frames of a camera, or of all, are under way.
func (r *Replay) wait(ctx context.Context, name string, limit int) error {
	for {
		n, next := r.flying(name, time.Now())
		if n < limit {
			return ctx.Err()
		}
		timer := time.NewTimer(next)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-r.news:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// flying counts the frames under way of a camera, "" for all, and how long until the oldest is given up.
func (r *Replay) flying(name string, now time.Time) (n int, next time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next = patience
	for camera, c := range r.cameras {
		if name != "" && camera != name {
			continue
		}
		for seq, f := range c.open {
			left := patience - now.Sub(f.since)
			if left <= 0 {
				delete(c.open, seq)
				c.account.Dropped["no answer"]++
				continue
			}
			n, next = n+1, min(next, left)
		}
	}
	return n, next
}

// listen takes what the rig says, until over, and then what is there.
func (r *Replay) listen(over <-chan struct{}) {
	for {
		select {
		case m := <-r.heard:
			r.receive(m)
		case <-over:
			for {
				select {
				case m := <-r.heard:
					r.receive(m)
				default:
					return
				}
			}
		}
	}
}

func (r *Replay) receive(m *nats.Msg) {
	_, name, kind, err := ipc.ParseSubject(m.Subject)
	if err != nil { // no camera's
		r.synchrony(m.Data)
		return
	}
	if kind == ipc.KindDrops {
		r.dropped(name, m.Data)
		return
	}
	t, err := ipc.DecodeTracks(m.Data)
	if err != nil {
		r.Log.Warn("tracks message ignored", "error", err)
		return
	}
	r.mu.Lock()
	c := r.camera(name)
	f, ok := c.open[t.Seq]
	if ok {
		delete(c.open, t.Seq)
		c.account.Tracked++
		c.account.Faces += uint64(len(t.Faces))
	}
	r.mu.Unlock()
	if ok {
		t.Frame = f.then
		r.give(&t)
		r.tell()
	}
}

func (r *Replay) dropped(name string, data []byte) {
	d, err := ipc.DecodeDrop(data)
	if err != nil {
		return
	}
	r.with(name, func(c *camera) {
		for _, seq := range d.Seqs {
			if _, ok := c.open[seq]; ok {
				delete(c.open, seq)
				c.account.Dropped[d.Reason]++
			}
		}
	})
	r.tell()
}

// tell wakes who waits for room.
func (r *Replay) tell() {
	select {
	case r.news <- struct{}{}:
	default:
	}
}

func (r *Replay) synchrony(data []byte) {
	s, err := ipc.DecodeSynchrony(data)
	if err != nil {
		r.Log.Warn("synchrony message ignored", "error", err)
		return
	}
	r.mu.Lock()
	s.FromNS, s.ToNS = s.FromNS-r.moved, s.ToNS-r.moved
	s.CaptureNS = s.ToNS + r.offset
	r.mu.Unlock()
	r.give(&s)
}

func (r *Replay) give(m ipc.Message) {
	if r.Heard != nil {
		r.giving.Lock()
		defer r.giving.Unlock()
		r.Heard(m)
	}
}

// Accounts tell what became of the frames of each camera; they are complete after Run.
func (r *Replay) Accounts() map[string]Account {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[string]Account{}
	for name, c := range r.cameras {
		all[name] = c.closed()
	}
	return all
}
