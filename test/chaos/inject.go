package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"syscall"
	"time"

	"facetrack/internal/stage"
	"facetrack/internal/telemetry"
)

// Event is a step that was done.
type Event struct {
	Step
	From   int64          `json:"from_ns"` // CLOCK_MONOTONIC
	To     int64          `json:"to_ns"`   // when the cause was gone
	PIDs   map[string]int `json:"pids,omitempty"`
	Before []int          `json:"before,omitempty"`  // killed before those
	Failed string         `json:"failed,omitempty"`  // why it could not be done
	Back   int64          `json:"back_ns,omitempty"` // lsl-out alone: when it had passed frames on again, as its statistics say
	back   int64          // all cameras were in the flow again so long after To
	Alone  bool           `json:"alone"` // no other cause from two seconds before to the next one, if that came later
}

// injector does the steps of a plan.
type injector struct {
	rig   *rig
	bus   *bus
	proxy *proxy
	cam   *webcam
	obs   *observer
	disks []*disk
	log   *slog.Logger

	mu     sync.Mutex // guards bus, which others look at
	events []*Event
	asking sync.WaitGroup
}

// run does all steps, or those until ctx is done or the rig has ended.
func (in *injector) run(ctx context.Context, steps []Step) {
	begin := now()
	for _, s := range steps {
		timer := time.NewTimer(s.At - time.Duration(now()-begin))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		if !in.rig.running() {
			return
		}
		e := &Event{Step: s, From: now()}
		in.events = append(in.events, e)
		in.log.Info("step", "at", s.At, "kind", s.Kind, "targets", s.Targets, "for", s.For)
		err := in.do(ctx, e)
		if e.To == 0 {
			e.To = now()
		}
		if err != nil {
			e.Failed = err.Error()
			in.log.Warn("step failed", "error", err)
		}
	}
	in.asking.Wait()
}

func (in *injector) do(ctx context.Context, e *Event) error {
	switch e.Kind {
	case Kill:
		return in.kill(ctx, e, syscall.SIGKILL)
	case Term:
		return in.kill(ctx, e, syscall.SIGTERM)
	case KillAway:
		defer func() { e.To = now() }()
		return during(ctx, e.For, func() (mend func()) {
			mend = in.proxy.cut()
			if err := in.kill(ctx, e, syscall.SIGKILL); err != nil {
				e.Failed = err.Error()
			}
			return mend
		})
	case Twice:
		return in.killTwice(ctx, e)
	case Stop:
		return in.stop(ctx, e)
	case BusKill:
		return in.restartBus(ctx, e.For)
	case BusStop:
		defer func() { _ = in.bus.signal(syscall.SIGCONT) }()
		return errors.Join(in.bus.signal(syscall.SIGSTOP), pause(ctx, e.For))
	case BusCut:
		return during(ctx, e.For, in.proxy.cut)
	case BusStall:
		return during(ctx, e.For, in.proxy.hold)
	case BusReset:
		in.proxy.reset(e.Value)
	case CameraCut:
		return during(ctx, e.For, in.cam.unplug)
	case CameraHang:
		return during(ctx, e.For, in.cam.freeze)
	case DiskFull:
		return in.fillDisks(ctx, e.For)
	case Starve:
		end, err := starve()
		if err != nil {
			return err
		}
		defer end()
		return pause(ctx, e.For)
	case Setting:
		return in.rig.command("config", "set", fmt.Sprintf("detect.every=%d", e.Value))
	case CameraAway:
		i := e.Value % fileCameras
		e.Targets = []string{fileCamera(i)}
		key := "cameras." + fileCamera(i)
		return errors.Join(in.rig.command("config", "set", key+"="), pause(ctx, e.For),
			in.rig.command("config", "set", fmt.Sprintf("%s={%s}", key, in.rig.clip(i))))
	}
	return nil
}

// during has something wrong for a while.
func during(ctx context.Context, d time.Duration, begin func() (end func())) error {
	defer begin()()
	return pause(ctx, d)
}

// pause is how long a cause lasts.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// killTwice kills a stage, and after a while what has been started in its place.
func (in *injector) killTwice(ctx context.Context, e *Event) error {
	if err := in.kill(ctx, e, syscall.SIGKILL); err != nil {
		return err
	}
	first := e.PIDs[e.Targets[0]]
	err := errors.Join(pause(ctx, e.For), in.started(ctx, e.Targets[0], first))
	if err != nil {
		return err
	}
	e.Before = []int{first}
	return in.kill(ctx, e, syscall.SIGKILL)
}

// started waits until a stage has another process than a dead one.
func (in *injector) started(ctx context.Context, name string, dead int) error {
	for end := now() + int64(20*time.Second); now() < end; {
		if pid := in.rig.pids()[name]; pid != 0 && pid != dead {
			return nil
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s is not started again", name)
}

func (in *injector) kill(ctx context.Context, e *Event, with syscall.Signal) error {
	e.PIDs = map[string]int{}
	var errs []error
	for _, name := range e.Targets {
		pid, err := in.rig.signal(name, with)
		errs = append(errs, err)
		e.PIDs[name] = pid
	}
	e.To = now()
	if len(e.Before) == 0 {
		e.From = e.To
	}
	if pid := e.PIDs[stage.LSLOut]; pid != 0 && (e.Kind != Twice || len(e.Before) > 0) {
		since := e.To
		in.asking.Go(func() { in.awaitLSL(ctx, e, pid, since) })
	}
	return errors.Join(errs...)
}

// awaitLSL asks for lsl-out's statistics until another process than the killed one has passed frames on.
func (in *injector) awaitLSL(ctx context.Context, e *Event, killed int, since int64) {
	const every, most = 50 * time.Millisecond, 30 * time.Second
	subject := telemetry.StatusSubject(in.rig.name, stage.LSLOut)
	for ctx.Err() == nil && now()-since < int64(most) {
		var s telemetry.Stats
		if in.obs.ask(subject, every, &s) == nil && s.PID != killed {
			for _, c := range s.Cameras {
				if c.Frames > 0 {
					e.Back = now()
					return
				}
			}
		}
		_ = pause(ctx, every)
	}
}

func (in *injector) stop(ctx context.Context, e *Event) error {
	name := e.Targets[0]
	pid, err := in.rig.signal(name, syscall.SIGSTOP)
	if err != nil {
		return err
	}
	e.PIDs = map[string]int{name: pid}
	err = pause(ctx, e.For)
	return errors.Join(err, syscall.Kill(pid, syscall.SIGCONT))
}

// restartBus kills the NATS server and starts it again after a while.
func (in *injector) restartBus(ctx context.Context, after time.Duration) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if err := in.bus.kill(); err != nil {
		return err
	}
	err := pause(ctx, after)
	if err := in.bus.start(); err != nil {
		return err
	}
	return errors.Join(err, in.bus.ready(10*time.Second))
}

// busPID is the process of the NATS server, 0 while there is none.
func (in *injector) busPID() int {
	if !in.mu.TryLock() {
		return 0
	}
	defer in.mu.Unlock()
	if in.bus.cmd == nil {
		return 0
	}
	return in.bus.cmd.Process.Pid
}

// fillDisks fills the disks for a while, and then has the NATS server started again, as its operator has to: a stream that once could not
// be written takes nothing any more.
func (in *injector) fillDisks(ctx context.Context, d time.Duration) error {
	var errs []error
	for _, disk := range in.disks {
		errs = append(errs, disk.fill())
	}
	errs = append(errs, pause(ctx, d))
	for _, disk := range in.disks {
		if disk.small == "" {
			errs = append(errs, disk.free())
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return in.restartBus(ctx, 0)
}
