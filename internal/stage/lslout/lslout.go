// Package lslout is the stage that offers what a rig finds as Lab Streaming Layer streams; package streams says which.
package lslout

import (
	"context"
	"errors"
	"slices"
	"sync"

	"facetrack/internal/clock"
	"facetrack/internal/config"
	"facetrack/internal/stage"
	"facetrack/internal/stage/queue"
	"facetrack/internal/streams"
	"facetrack/internal/telemetry"
	"facetrack/ipc"
	"facetrack/lsl"
)

const (
	maxQueue          = 256
	reasonQueueFull   = "queue-full"
	reasonNoMoreSlots = "too-many-streams"
)

// outlets opens streams for the readers of LSL.
type outlets struct {
	ctx     context.Context //nolint:containedctx // the stage's: the outlets live as long
	options lsl.Options

	mu  sync.Mutex
	all []*lsl.Outlet
}

// Open implements [streams.Sink].
func (o *outlets) Open(info lsl.StreamInfo) (streams.Stream, error) {
	outlet, err := lsl.NewOutlet(o.ctx, info, o.options)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, outlet)
	return &counted{outlet, o}, nil
}

// counted is an outlet that is counted until it is closed.
type counted struct {
	*lsl.Outlet
	by *outlets
}

// Close closes it.
func (c *counted) Close() error {
	c.by.mu.Lock()
	c.by.all = slices.DeleteFunc(c.by.all, func(o *lsl.Outlet) bool { return o == c.Outlet })
	c.by.mu.Unlock()
	return c.Outlet.Close()
}

// state tells who reads.
func (o *outlets) state() telemetry.Streams {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := telemetry.Streams{Open: len(o.all)}
	for _, outlet := range o.all {
		for _, r := range outlet.Stats().Readers {
			s.Readers++
			s.Lost += uint64(max(0, r.Dropped)) //nolint:gosec // not negative
		}
	}
	return s
}

type output struct {
	env   *stage.Env
	queue *queue.Fair[ipc.Tracks]
	set   *streams.Set
}

// Run is the stage's main function.
func Run(ctx context.Context, env *stage.Env) error {
	if !env.Config.LSL.Enabled {
		defer env.Follow(ctx, stage.Follower{Apply: func(config.Config, config.Config) error { return nil }})()
		env.Ready()
		<-ctx.Done()
		return nil
	}
	o, err := open(ctx, env)
	if err != nil {
		return stage.Permanent(err)
	}
	defer func() { _ = o.set.Close() }()
	listener, err := o.set.Listen(env.Bus, o.receive)
	if err != nil {
		return err
	}
	defer env.Follow(ctx, stage.Follower{Apply: o.apply, Forget: o.forget})()
	env.Ready()
	var worker sync.WaitGroup
	worker.Go(func() {
		for {
			t, ok := o.queue.Pop(ctx)
			if !ok {
				return
			}
			o.frame(&t)
		}
	})
	worker.Wait()
	return listener.Close()
}

func open(ctx context.Context, env *stage.Env) (*output, error) {
	c := env.Config.LSL
	sink := &outlets{ctx: ctx, options: lsl.Options{
		LoopbackOnly: c.LoopbackOnly, Interfaces: c.Interfaces, SessionID: c.SessionID,
		BasePort: c.BasePort, PortRange: c.PortRange, DiscoveryPort: c.DiscoveryPort, Logger: env.Log,
	}}
	env.Telemetry.SetStreams(sink.state)
	set, err := streams.New(env.Config, sink, env.Log)
	return &output{env: env, queue: queue.New[ipc.Tracks](maxQueue), set: set}, err
}

// apply takes a changed configuration over.
func (o *output) apply(_, to config.Config) error {
	o.set.Configure(to)
	return nil
}

// forget closes the streams of a camera that was removed.
func (o *output) forget(camera string) { o.set.Complain("camera removed", o.set.Forget(camera)) }

func (o *output) receive(data []byte) {
	t, err := o.set.Read(data)
	if err != nil {
		o.env.Log.Warn("tracks message ignored", "error", err)
		return
	}
	if old, dropped := o.queue.Push(t.Camera, t); dropped {
		o.env.Telemetry.Drop(old.Camera, reasonQueueFull) // the frame did reach tracks: its account is closed
	}
}

// frame sends one row on every stream of the frame's camera.
func (o *output) frame(t *ipc.Tracks) {
	defer o.env.Vigil.Begin()()
	begin := clock.Now()
	err := o.set.Tracks(t)
	if errors.Is(err, streams.ErrTooMany) {
		o.env.Telemetry.Drop(t.Camera, reasonNoMoreSlots)
	}
	o.set.Complain("frame", err)
	o.env.Telemetry.Frame(t.Camera, len(t.Faces), clock.Since(begin), clock.Since(t.CaptureNS))
}
