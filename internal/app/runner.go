package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"facetrack/internal/app/supervise"
	"facetrack/internal/auth"
	"facetrack/internal/source"
	"facetrack/internal/stage"
	"facetrack/internal/telemetry"
	"facetrack/ipc"
)

// runner is a stage that runs: a child process, or a thread of this one.
type runner interface {
	Name() string
	WaitReady(ctx context.Context) error
	Stop(grace time.Duration)
	Done() <-chan struct{}
	Err() error
	PID() (pid, restarts int)
}

// startStages starts the consumers, waits until they are ready, then starts capture.
func (r *rig) startStages(ctx context.Context) error {
	var waiting []runner
	for _, name := range consumers {
		p, err := r.startStage(name)
		if err != nil {
			return err
		}
		r.runners = append(r.runners, p)
		waiting = append(waiting, p)
	}
	for _, p := range waiting {
		if err := p.WaitReady(ctx); err != nil {
			return err
		}
	}
	capture, err := r.startStage(stage.Capture)
	if err != nil {
		return err
	}
	r.runners = append([]runner{capture}, r.runners...)
	return capture.WaitReady(ctx)
}

func (r *rig) startStage(name string) (runner, error) {
	if r.cmd.Threads {
		return startThread(r, name), nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("own program not found: %w", err)
	}
	return supervise.Start(supervise.Command{
		Name: name, Path: self, Stderr: r.screen, Note: r.note, Env: append(source.QuietEnviron(), supervisedEnv+"=1"),
		// A process that is started again while the server is away waits for it: one that ended would be started later and later.
		Args:     append([]string{"facetrack", "stage", name, "--wait", "--nats", r.url, "--rig", r.cfg.Rig, "--log-level", r.cmd.LogLevel}, accessArgs(r.access)...),
		Restarts: telemetry.RestartsVariable,
	}, r.log), nil
}

// note takes what capture says past the bus: a camera and its last sequence number.
func (r *rig) note(text string) {
	camera, last, _ := strings.Cut(text, " ")
	if seq, err := strconv.ParseUint(last, 10, 64); err == nil {
		r.captured(camera, seq)
	}
}

func (r *rig) captured(camera string, last uint64) {
	r.monitor.Ledger.Captured(camera, last, time.Now())
}

// thread runs a stage as a goroutine of this process, with a connection of its own.
type thread struct {
	name   string
	cancel context.CancelFunc
	ready  chan struct{}
	done   chan struct{}
	err    error // set before done is closed
}

func startThread(r *rig, name string) *thread {
	ctx, cancel := context.WithCancel(context.Background())
	t := &thread{name: name, cancel: cancel, ready: make(chan struct{}), done: make(chan struct{})}
	log := r.log.With("stage", name)
	go func() {
		defer close(t.done)
		defer cancel()
		connect := func(as string) (*ipc.Conn, error) { return r.dial(as, auth.Role(name), log) }
		nc, err := connect(telemetry.ServiceName(name))
		if err == nil {
			var once sync.Once
			err = RunStage(ctx, name, Surroundings{
				Config: r.cfg, Dial: connect, Bus: nc, Bucket: r.bucket, Settings: r.settings, Revision: r.revision, Log: log,
				Ready: func() { once.Do(func() { close(t.ready) }) }, Ended: r.captured,
			})
			err = errors.Join(err, nc.Close())
		}
		if err != nil {
			t.err = fmt.Errorf("%s: %w", name, err)
		}
	}()
	return t
}

// dial connects to the rig's server, which may be within this process alone.
func (r *rig) dial(as string, role auth.Role, log *slog.Logger) (*ipc.Conn, error) {
	if r.private != nil {
		return ipc.Connect(r.url, as, log, r.private...)
	}
	return dial(r.url, as, role, r.access, log)
}

func (t *thread) Name() string          { return t.name }
func (t *thread) Done() <-chan struct{} { return t.done }
func (t *thread) PID() (int, int)       { return os.Getpid(), 0 }

func (t *thread) Err() error {
	<-t.done
	return t.err
}

func (t *thread) WaitReady(ctx context.Context) error {
	select {
	case <-t.ready:
		return nil
	case <-t.done:
		return t.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *thread) Stop(time.Duration) {
	t.cancel()
	<-t.done
}
