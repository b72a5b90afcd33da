package stage

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"facetrack/internal/config"
	"facetrack/internal/telemetry"
	"facetrack/ipc"
)

// forgetAfter is when nothing of a camera that was removed is under way any more: its last frames have come to their end, or are
// written off.
const forgetAfter = 3 * time.Second

// Live is the configuration of a rig as it changes in its bucket. What is stored there counts only if it is valid and the process
// can take it over as it runs; else one line says why not, and the former one stays in effect.
type Live struct {
	Config   config.Config // in effect when the process starts, with the cameras of all processes
	Revision uint64        // of it; 0: it is a file's
	Settings *ipc.Settings
	Bus      *nats.Conn
	// Mine leaves of a configuration what this process works on; nil: all.
	Mine func(config.Config) config.Config
}

// Follower is what a stage does about changes.
type Follower struct {
	// Apply takes a configuration over, as a whole or not at all. The stage works on meanwhile.
	Apply func(from, to config.Config) error
	// Forget gives up what is known of a camera that was removed a while ago; may be nil.
	Forget func(camera string)
}

// Follow has a stage take over what changes, until stop, which waits for a change under way.
func (e *Env) Follow(ctx context.Context, f Follower) (stop func()) {
	if e.Live == nil || e.Live.Settings == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	l := &following{Live: *e.Live, env: e, follower: f, log: e.Log}
	revisions, err := l.Settings.Watch(ctx)
	if err != nil {
		defer cancel()
		if ctx.Err() != nil { // the stage ends before it has begun
			return func() {}
		}
		e.Log.Warn("changes of the configuration are not heard of", "error", err)
		return func() {}
	}
	l.tell()
	var all sync.WaitGroup
	all.Go(func() {
		for r := range revisions {
			l.take(r)
		}
	})
	return func() {
		cancel()
		all.Wait()
		l.close()
	}
}

// following is Live for one stage.
type following struct {
	Live
	env      *Env
	follower Follower
	log      *slog.Logger
	seen     uint64 // the latest revision, be it in effect or refused

	mu     sync.Mutex // guards what the timers read, too
	ended  bool
	timers []*time.Timer
}

// take takes a revision over, or says why not.
func (l *following) take(r ipc.Revision) {
	if r.Number <= max(l.Revision, l.seen) { // the one that the process has started with, or told again after the server was away
		return
	}
	l.seen = r.Number
	if len(r.Text) == 0 {
		l.log.Warn("the stored configuration was deleted: the former one stays in effect", "revision", r.Number)
		return
	}
	to, err := l.next(r)
	if err == nil {
		err = l.apply(l.mine(l.Config), l.mine(to))
	}
	if err != nil {
		l.log.Error("configuration refused: the former one stays in effect", "revision", r.Number, "in effect", l.Revision, "error", err)
		l.refuse(r.Number, err)
		return
	}
	_, removed := config.CameraChanges(l.Config, to)
	l.mu.Lock()
	l.Config, l.Revision = to, r.Number
	l.mu.Unlock()
	for _, c := range removed {
		l.forget(c.Name)
	}
	l.env.Telemetry.Cameras(names(l.mine(to)))
	l.log.Info("configuration taken over", "revision", r.Number)
	l.tell()
}

// apply has the stage take over what concerns this process, after it has claimed the cameras that come.
func (l *following) apply(from, to config.Config) error {
	came, _ := config.CameraChanges(from, to)
	if err := l.env.Share.Take(names(config.Config{Cameras: came})...); err != nil {
		return err
	}
	err := l.follower.Apply(from, to)
	if err != nil {
		for _, c := range came {
			l.env.Share.Give(c.Name)
		}
	}
	return err
}

func names(c config.Config) (all []string) {
	for _, cam := range c.Cameras {
		all = append(all, cam.Name)
	}
	return all
}

func (l *following) next(r ipc.Revision) (config.Config, error) {
	d, err := config.ParseDocument("the stored configuration", r.Text)
	if err != nil {
		return config.Config{}, err
	}
	return l.Config.Follow(d.Config)
}

func (l *following) mine(c config.Config) config.Config {
	if l.Mine == nil {
		return c
	}
	return l.Mine(c)
}

func (l *following) tell() {
	l.env.Telemetry.Configuration(telemetry.Configuration{Revision: l.Revision})
	l.say(ipc.Applied{Stage: l.env.Name, Revision: l.Revision})
}

func (l *following) refuse(revision uint64, err error) {
	l.env.Telemetry.Configuration(telemetry.Configuration{Revision: l.Revision, Later: revision, Refused: err.Error()})
	l.say(ipc.Applied{Stage: l.env.Name, Revision: revision, Refused: err.Error()})
}

func (l *following) say(a ipc.Applied) {
	if err := a.Tell(l.Bus, l.env.Config.Rig); err != nil {
		l.log.Debug("state of the configuration not told", "error", err)
	}
}

// forget has the stage forget a camera in a while, unless it is back by then.
func (l *following) forget(camera string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timers = append(l.timers, time.AfterFunc(forgetAfter, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.ended || l.Config.Has(camera) {
			return
		}
		l.env.Telemetry.Forget(camera)
		l.env.Share.Give(camera)
		if l.follower.Forget != nil {
			l.follower.Forget(camera)
		}
	}))
}

func (l *following) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	for _, t := range l.timers {
		t.Stop()
	}
}
