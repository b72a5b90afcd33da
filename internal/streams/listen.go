package streams

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"facetrack/internal/clock"
	"facetrack/ipc"
	"facetrack/lsl"
)

const (
	silentEvery  = 250 * time.Millisecond
	pendingBytes = 512 << 20 // of messages that wait while a file's disk is slow
	draining     = 5 * time.Second
)

// Read reads a message of tracks, as far as the streams need it.
func (s *Set) Read(data []byte) (ipc.Tracks, error) {
	if s.mesh {
		return ipc.DecodeTracks(data)
	}
	return ipc.DecodeTracksWithoutPoints(data)
}

// Listener is a set that follows a rig.
type Listener struct {
	set  *Set
	nc   *nats.Conn
	subs []*nats.Subscription
	done []chan struct{}

	quit    chan struct{}
	waiting sync.WaitGroup
	once    sync.Once
	err     error
}

// Listen has the set follow the rig. Messages of tracks go to tracks, one after the other; nil: they become rows at once.
func (s *Set) Listen(nc *nats.Conn, tracks func(data []byte)) (*Listener, error) {
	l := &Listener{set: s, nc: nc, quit: make(chan struct{})}
	if tracks == nil {
		tracks = func(data []byte) { follow(s, "tracks", data, s.Read, s.Tracks) }
	}
	rig := s.cfg.Rig
	for subject, handle := range map[string]func(data []byte){
		ipc.AllCameras(rig, ipc.KindTracks):         tracks,
		ipc.AllCameras(rig, ipc.KindEnd):            func(data []byte) { follow(s, "end", data, ipc.DecodeEnd, s.End) },
		ipc.AllCameras(rig, ipc.KindEvents):         func(data []byte) { follow(s, "event", data, ipc.DecodeEvent, s.Event) },
		ipc.SynchronySubject(rig, ipc.Any, ipc.Any): func(data []byte) { follow(s, "synchrony", data, ipc.DecodeSynchrony, s.Synchrony) },
	} {
		if err := l.subscribe(nc, subject, handle); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	l.waiting.Go(l.watch)
	return l, nil
}

// follow makes rows of a message; what goes wrong is logged.
func follow[M any](s *Set, kind string, data []byte, decode func([]byte) (M, error), use func(*M) error) {
	m, err := decode(data)
	if err != nil {
		s.log.Warn("message ignored", "kind", kind, "error", err)
		return
	}
	s.Complain(kind, use(&m))
}

// Complain logs what could not be sent, but for what is known already.
func (s *Set) Complain(what string, err error) {
	if err = news(err); err != nil {
		s.log.Warn("not sent to all streams", "what", what, "error", err)
	}
}

// news are the errors joined in err that were not logged before.
func news(err error) error {
	if all, joined := err.(interface{ Unwrap() []error }); joined { //nolint:errorlint // each is looked at
		var left []error
		for _, e := range all.Unwrap() {
			left = append(left, news(e))
		}
		return errors.Join(left...)
	}
	if errors.Is(err, lsl.ErrClosed) || errors.Is(err, ErrTooMany) {
		return nil
	}
	return err
}

func (l *Listener) subscribe(nc *nats.Conn, subject string, handle func(data []byte)) error {
	sub, err := nc.Subscribe(subject, func(m *nats.Msg) {
		if !ipc.FromStream(m) {
			handle(m.Data)
		}
	})
	if err != nil {
		return err
	}
	done := make(chan struct{})
	sub.SetClosedHandler(func(string) { close(done) })
	l.subs, l.done = append(l.subs, sub), append(l.done, done)
	return sub.SetPendingLimits(-1, pendingBytes)
}

// watch looks for cameras that stand still.
func (l *Listener) watch() {
	tick := time.NewTicker(silentEvery)
	defer tick.Stop()
	for {
		select {
		case <-l.quit:
			return
		case <-tick.C:
			l.set.Complain("silence", l.set.Silent(clock.Now()))
		}
	}
}

// Close hears the messages that are under way to the end and stops listening. The set stays open.
func (l *Listener) Close() error {
	l.once.Do(func() {
		close(l.quit)
		l.waiting.Wait()
		if !l.nc.IsConnected() { // nothing can be drained, but what came is heard
			l.err = l.settle()
			return
		}
		var errs []error
		for _, sub := range l.subs {
			if err := sub.Drain(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) && !errors.Is(err, nats.ErrBadSubscription) {
				errs = append(errs, err)
			}
		}
		patience := time.After(draining)
		for _, done := range l.done {
			select {
			case <-done:
			case <-patience:
				errs = append(errs, errors.New("the last messages of the rig were not read in time"))
			}
		}
		l.err = errors.Join(errs...)
	})
	return l.err
}

// settle waits until the messages that have come are handled; the connection's end closes the subscriptions.
func (l *Listener) settle() error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	patience := time.After(draining)
	for {
		waiting := 0
		for _, sub := range l.subs {
			if n, _, err := sub.Pending(); err == nil {
				waiting += n
			}
		}
		if waiting == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-patience:
			return fmt.Errorf("%d messages of the rig were not read in time", waiting)
		}
	}
}
