package capture

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"facetrack/internal/clock"
	"facetrack/internal/config"
	"facetrack/internal/source"
	"facetrack/internal/stage"
	"facetrack/internal/telemetry"
	"facetrack/ipc"
)

// deadline is how long anything may take on a busy machine before a test gives up.
const deadline = 60 * time.Second

var quiet = slog.New(slog.DiscardHandler)

// rig is a NATS server, the surroundings of a capture stage, and somebody who listens to everything.
type rig struct {
	t      *testing.T
	env    *stage.Env
	url    string
	nc     *ipc.Conn
	frames chan ipc.Frame
	drops  chan ipc.Drop
	ends   chan ipc.End
}

func newRig(t *testing.T, cameras ...config.Camera) *rig {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(deadline) {
		t.Fatal("the NATS server does not start")
	}
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	r := &rig{
		t: t, url: s.ClientURL(),
		frames: make(chan ipc.Frame, 4096), drops: make(chan ipc.Drop, 4096), ends: make(chan ipc.End, 16),
	}
	cfg := config.Default()
	cfg.Rig, cfg.Ring.Dir, cfg.Ring.Slots, cfg.Cameras = "lab", t.TempDir(), 4, cameras
	r.nc = r.connect()
	r.env = r.surroundings(cfg)
	hear(r, ipc.KindFrame, ipc.DecodeFrame, r.frames)
	hear(r, ipc.KindDrops, ipc.DecodeDrop, r.drops)
	hear(r, ipc.KindEnd, ipc.DecodeEnd, r.ends)
	if err := r.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) connect() *ipc.Conn {
	r.t.Helper()
	nc, err := ipc.Connect(r.url, r.t.Name(), quiet, nats.Timeout(deadline))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = nc.Close() })
	return nc
}

func (r *rig) surroundings(cfg config.Config) *stage.Env {
	nc := r.connect()
	drops := ipc.NewDrops(nc.Conn, cfg.Rig, stage.Capture, quiet)
	r.t.Cleanup(func() { _ = drops.Close() })
	return &stage.Env{
		Name: stage.Capture, Config: cfg, Bus: nc.Conn, Out: ipc.NewPublisher(nc.Conn), Telemetry: telemetry.New(stage.Capture),
		Drops: drops, Log: quiet, Ready: func() {},
		Dial: func(name string) (*ipc.Conn, error) { return ipc.Connect(r.url, name, quiet, nats.Timeout(deadline)) },
	}
}

func hear[M any](r *rig, kind ipc.Kind, decode func([]byte) (M, error), into chan M) {
	r.t.Helper()
	_, err := r.nc.Subscribe(ipc.AllCameras("lab", kind), func(m *nats.Msg) {
		v, err := decode(m.Data)
		if err != nil {
			r.t.Errorf("%s: %v", m.Subject, err)
			return
		}
		into <- v
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

func next[M any](r *rig, from chan M) M {
	r.t.Helper()
	select {
	case m := <-from:
		return m
	case <-time.After(deadline):
		var m M
		r.t.Fatalf("no %T came", m)
		return m
	}
}

// ack tells capture that a frame reached its end.
func (r *rig) ack(f ipc.Frame) {
	r.t.Helper()
	err := ipc.NewPublisher(r.nc.Conn).Publish(ipc.Subject("lab", f.Camera, ipc.KindAck), &ipc.Ack{Camera: f.Camera, Seq: f.Seq})
	if err != nil {
		r.t.Error(err)
	}
}

// camera opens a camera as Run does; the source can then be replaced before it runs.
func (r *rig) camera(cfg config.Camera) *camera {
	r.t.Helper()
	c, err := openCamera(r.t.Context(), r.env, cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	c.flight = newFlight(time.Hour) // however slow this machine is, no frame is taken for lost
	if err := follow(r.env, []*camera{c}); err != nil {
		r.t.Fatal(err)
	}
	return c
}

// run starts a camera and returns what its end says.
func (r *rig) run(ctx context.Context, run func(context.Context) error) (ended chan error) {
	ended = make(chan error, 1)
	go func() { ended <- run(ctx) }()
	return ended
}

func (r *rig) mustEnd(ended chan error) {
	r.t.Helper()
	if err := next(r, ended); err != nil {
		r.t.Fatal(err)
	}
}

func drawn(spec, pace string) config.Camera {
	return config.Camera{Name: "cam0", Source: spec, Pace: pace, HFOV: 60}
}

// stepped is a source that gives a frame for each step it is allowed.
type stepped struct {
	info   source.Info
	steps  chan error // nil: a frame; else what Grab returns
	onGrab func()
	then   source.Info // what Info becomes with ErrGeometry
	broken int         // so many of the next frames cannot be decoded
	filler byte
}

func newStepped(info source.Info) *stepped {
	return &stepped{info: info, steps: make(chan error, 1024), onGrab: func() {}}
}

func (s *stepped) Info() source.Info { return s.info }

func (s *stepped) Grab(ctx context.Context) (int64, error) {
	s.onGrab()
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case err := <-s.steps:
		if errors.Is(err, source.ErrGeometry) {
			s.info = s.then
		}
		return clock.Now(), err
	}
}

func (s *stepped) Retrieve(dst []byte) error {
	if s.broken > 0 {
		s.broken--
		return source.ErrCorrupt
	}
	if len(dst) != s.info.FrameBytes() {
		return source.ErrBuffer
	}
	s.filler++
	for i := range dst {
		dst[i] = s.filler
	}
	return nil
}

func (s *stepped) Skip(int64) error { return io.EOF }
func (s *stepped) Close() error     { return nil }

// step lets n frames through.
func (s *stepped) step(n int) {
	for range n {
		s.steps <- nil
	}
}

// replace puts a stepped source of the same geometry behind an open camera.
func (c *camera) replace(t *testing.T) *stepped {
	t.Helper()
	s := newStepped(c.info)
	if err := c.src.Close(); err != nil {
		t.Fatal(err)
	}
	c.src = s
	return s
}
