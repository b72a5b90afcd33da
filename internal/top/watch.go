package top

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"facetrack/internal/monitor"
	"facetrack/internal/stage"
	"facetrack/internal/telemetry"
	"facetrack/ipc"
)

// Sample is what a rig said at one instant.
type Sample struct {
	At    time.Time
	Stats []telemetry.Stats // of the processes that answered
	Away  string            // why nobody could be asked; "" when the server is there
}

// Bounds of how long a process may take to answer.
const (
	leastWait = 300 * time.Millisecond
	mostWait  = 2 * time.Second
)

// Watcher asks a rig again and again. It waits for a server that is not there.
type Watcher struct {
	dial     func(name string) (*ipc.Conn, error)
	rig      string
	interval time.Duration
	nc       *ipc.Conn

	Samples chan Sample
	Events  chan ipc.Event
}

// NewWatcher returns a watcher that asks every interval once Run is called, over a connection that dial makes.
func NewWatcher(dial func(name string) (*ipc.Conn, error), rig string, interval time.Duration) *Watcher {
	return &Watcher{dial: dial, rig: rig, interval: interval, Samples: make(chan Sample), Events: make(chan ipc.Event, 64)}
}

// Run asks until ctx is done.
func (w *Watcher) Run(ctx context.Context) {
	defer func() {
		if w.nc != nil {
			_ = w.nc.Close()
		}
	}()
	tick := time.NewTicker(w.interval)
	defer tick.Stop()
	for {
		s := w.ask()
		select {
		case w.Samples <- s:
		case <-ctx.Done():
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (w *Watcher) ask() Sample {
	s := Sample{At: time.Now()}
	if err := w.connect(); err != nil {
		s.Away = oneLine(err.Error())
		return s
	}
	if !w.nc.IsConnected() {
		s.Away = "the NATS server is away: connecting again"
		return s
	}
	all, err := monitor.Status(w.nc.Conn, w.rig, stage.Names, min(max(w.interval/2, leastWait), mostWait))
	if err != nil {
		s.Away = oneLine(err.Error())
	}
	if refused := w.nc.LastError(); len(all) == 0 && errors.Is(refused, nats.ErrPermissionViolation) {
		s.Away = oneLine(refused.Error())
	}
	s.Stats, s.At = all, time.Now()
	return s
}

func (w *Watcher) connect() error {
	if w.nc != nil {
		return nil
	}
	nc, err := w.dial("facetrack-top")
	if err != nil {
		return err
	}
	_, err = nc.Subscribe(ipc.AllCameras(w.rig, ipc.KindEvents), w.hear)
	if err != nil {
		_ = nc.Close()
		return fmt.Errorf("listen to events: %w", err)
	}
	w.nc = nc
	return nil
}

// hear passes an event on; one of more than anybody could read is left out.
func (w *Watcher) hear(m *nats.Msg) {
	e, err := ipc.DecodeEvent(m.Data)
	if err != nil {
		return
	}
	select {
	case w.Events <- e:
	default:
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
