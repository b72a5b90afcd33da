package stagetest

import (
	"context"
	"time"

	"facetrack/internal/config"
	"facetrack/internal/stage"
	"facetrack/internal/telemetry"
	"facetrack/internal/testmodels"
	"facetrack/ipc"
)

// Config names the networks that find drawn faces, and has its ring files where they go with the test.
func (b *Bus) Config() config.Config {
	b.T.Helper()
	files, err := testmodels.Write(b.T.TempDir())
	if err != nil {
		b.T.Fatal(err)
	}
	cfg := config.Default()
	cfg.Rig, cfg.Ring.Dir, cfg.Detect.Model, cfg.Landmarks.Model = Rig, b.T.TempDir(), files.Detector, files.Landmarks
	cfg.Infer.Backend, cfg.Infer.Workers = "reference", 2
	return cfg
}

// Env is what a stage works with, on a connection of its own.
func (b *Bus) Env(name string, cfg config.Config) *stage.Env {
	b.T.Helper()
	nc := b.Connect()
	drops := ipc.NewDrops(nc.Conn, cfg.Rig, name, Quiet)
	b.T.Cleanup(func() { _ = drops.Close() })
	return &stage.Env{
		Name: name, Config: cfg, Bus: nc.Conn, Out: ipc.NewPublisher(nc.Conn), Telemetry: telemetry.New(name),
		Drops: drops, Dial: b.dial, Log: Quiet, Ready: func() {},
	}
}

// Eventually returns once ok does; it fails the test after Deadline.
func (b *Bus) Eventually(what string, ok func() bool) {
	b.T.Helper()
	for end := time.Now().Add(Deadline); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			b.T.Fatalf("never: %s", what)
		}
	}
}

// Run starts a stage and returns once it is ready. It runs until stop, which returns what the stage ends with, or until
// the test ends; an error then fails the test.
func (b *Bus) Run(name string, cfg config.Config, run stage.Run) (env *stage.Env, stop func() error) {
	b.T.Helper()
	env = b.Env(name, cfg)
	ready, ended := make(chan struct{}), make(chan error, 1)
	env.Ready = func() { close(ready) }
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- run(ctx, env) }()
	stop = func() error {
		b.T.Helper()
		cancel()
		err := Next(b.T, ended)
		ended <- err // for the next who asks
		return err
	}
	b.T.Cleanup(func() {
		if err := stop(); err != nil {
			b.T.Errorf("the stage ends with %v", err)
		}
	})
	select {
	case <-ready:
	case err := <-ended:
		ended <- err
		b.T.Fatalf("the stage ends before it is ready: %v", err)
	}
	if err := env.Bus.Flush(); err != nil {
		b.T.Fatal(err)
	}
	return env, stop
}
