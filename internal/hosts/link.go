package hosts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"facetrack/internal/clock"
	"facetrack/internal/clocksync"
	"facetrack/ipc"
)

const (
	burst    = 8                      // exchanges, of which the shortest counts
	answer   = 500 * time.Millisecond // how long one is waited for
	often    = 500 * time.Millisecond // between bursts while little is known …
	seldom   = 2 * time.Second        // … and later
	little   = 6                      // bursts
	patience = 2                      // bursts without any answer, after which a host is away
	lateNS   = 2_000_000_000          // frames that are older when they come are late
	earlyNS  = 1_000_000_000          // no picture is from so far in the future
)

// link is another host as this one sees it.
type link struct {
	rig string
	log *slog.Logger
	nc  *nats.Conn

	mu      sync.Mutex
	clock   clocksync.Clock
	latency map[string]float64
	state   ipc.Host
	last    map[string]last // by camera
	silent  int             // bursts without any answer, until now
	warned  bool            // that frames come late
}

// last is the frame of a camera that was taken over last.
type last struct {
	seq uint64
	ns  int64 // on the host's own clock
}

func newLink(nc *nats.Conn, rig string, log *slog.Logger) *link {
	return &link{
		rig: rig, nc: nc, log: log.With("host", rig), last: map[string]last{},
		state: ipc.Host{Rig: rig, Since: time.Now(), Reason: "not heard of yet"},
	}
}

// run measures the host's clock until ctx is done. changed is called when the host comes or goes.
func (l *link) run(ctx context.Context, changed func()) {
	for bursts := 0; ; bursts++ {
		err := l.measure(ctx)
		if ctx.Err() != nil {
			return
		}
		if l.reached(err) {
			changed()
		}
		if err != nil {
			bursts = 0
		}
		wait := seldom
		if bursts < little {
			wait = often
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// measure has a burst of exchanges. The first that fails ends it; what came before counts.
func (l *link) measure(ctx context.Context) error {
	var all []clocksync.Exchange
	var latency map[string]float64
	var err error
	for len(all) < burst && err == nil && ctx.Err() == nil {
		var e clocksync.Exchange
		var a ipc.ClockAnswer
		if e, a, err = ipc.AskClock(l.nc, l.rig, answer); err == nil {
			all, latency = append(all, e), a.LatencyMS
		}
	}
	best, ok := clocksync.Best(all)
	if !ok {
		return cmp.Or(err, errNoClock)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.latency = latency
	if l.clock.Add(best) {
		l.log.Warn("the clock of this host is another one than before: it was started again, or has slept", "times", l.clock.Steps())
		clear(l.last)
	}
	return nil
}

var errNoClock = errors.New("its answers make no sense: times that go backwards")

// reached notes whether the host has answered, and tells whether that is another state than before.
func (l *link) reached(err error) (changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	up, reason := err == nil, why(err)
	if l.silent++; up {
		l.silent = 0
	}
	if l.state.Up && !up && l.silent < patience && !errors.Is(err, nats.ErrNoResponders) {
		return false // busy, perhaps
	}
	changed = up != l.state.Up
	l.state.Reason = reason
	if !changed {
		return false
	}
	l.state.Up, l.state.Since = up, time.Now()
	if up {
		l.log.Warn("host is reached")
	} else {
		l.log.Warn("host is not reached: its participants are not merged until it answers again", "reason", reason)
	}
	return true
}

func why(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, nats.ErrNoResponders):
		return "its server has not joined, or no tracker runs there"
	case errors.Is(err, nats.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no answer within %s", answer)
	}
	return err.Error()
}

// take moves the times of a frame onto this host's clock. It is false for frames that are not to be used. wrong is how far the times may be off.
func (l *link) take(t *ipc.Tracks) (takenNS, wrong int64, ok bool) {
	now := clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	at, known := l.clock.At(now)
	if !known || !l.state.Up {
		l.state.Untimed++
		return 0, 0, false
	}
	before, again := l.last[t.Camera]
	mine := last{seq: t.Seq, ns: t.CaptureNS}
	if again && t.Seq <= before.seq && t.CaptureNS <= before.ns {
		l.state.Old++
		return 0, 0, false
	}
	t.CaptureNS += at.OffsetNS
	for _, s := range []*int64{&t.Stamps.Capture, &t.Stamps.Detect, &t.Stamps.Landmarks, &t.Stamps.Tracks} {
		if *s != 0 {
			*s += at.OffsetNS
		}
	}
	if age := now - t.CaptureNS; age > lateNS || age < -earlyNS-at.ErrorNS {
		l.state.Late++
		l.late(age)
		return 0, 0, false
	}
	l.last[t.Camera] = mine
	l.state.Frames++
	return t.TimeNS() - int64(l.latency[t.Camera]*1e6), at.ErrorNS, true
}

func (l *link) late(age int64) {
	if !l.warned {
		l.log.Warn("frames of this host come too late and are not merged", "age", time.Duration(age).Round(time.Millisecond))
	}
	l.warned = true
}

// forget notes that a camera has ended.
func (l *link) forget(camera string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.last, camera)
}

// now is the state of the link.
func (l *link) now() ipc.Host {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.state
	s.Steps = l.clock.Steps()
	if e, ok := l.clock.At(clock.Now()); ok {
		s.Clock = &ipc.HostClock{OffsetNS: e.OffsetNS, ErrorNS: e.ErrorNS, DriftPPM: e.DriftPPM, RoundTripNS: e.RoundTripNS, AgeNS: e.AgeNS}
	}
	return s
}
