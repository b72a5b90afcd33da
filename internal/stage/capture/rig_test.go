package capture

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"facetrack/internal/clock"
	"facetrack/internal/config"
	"facetrack/internal/cuda"
	"facetrack/internal/cuda/cudatest"
	"facetrack/internal/source"
	"facetrack/internal/stage"
	"facetrack/internal/stage/stagetest"
	"facetrack/ipc"
)

// rig is the surroundings of a capture stage, and somebody who listens to everything.
type rig struct {
	*stagetest.Bus
	env    *stage.Env
	gpus   *gpus
	frames <-chan ipc.Frame
	drops  <-chan ipc.Drop
	ends   <-chan ipc.End
}

func newRig(t *testing.T, cameras ...config.Camera) *rig {
	t.Helper()
	return newRigOn(stagetest.NewBus(t), cameras...)
}

// newRigWithGPU is newRig on a machine with a GPU, which it returns as well.
func newRigWithGPU(t *testing.T) (*rig, *cuda.Context) {
	t.Helper()
	gpu := cudatest.Use(t)
	r := newRig(t)
	r.env.Config.CUDA.GPU = "auto"
	r.gpus = newGPUs(r.env.Config, r.env.Log)
	return r, gpu
}

func newRigOn(b *stagetest.Bus, cameras ...config.Camera) *rig {
	b.T.Helper()
	cfg := config.Default()
	cfg.Rig, cfg.Ring.Dir, cfg.Ring.Slots, cfg.Cameras, cfg.CUDA.GPU = stagetest.Rig, b.T.TempDir(), 4, cameras, "off"
	env := b.Env(stage.Capture, cfg)
	return &rig{
		Bus: b, env: env, gpus: newGPUs(cfg, env.Log),
		frames: stagetest.Hear(b, ipc.KindFrame, ipc.DecodeFrame),
		drops:  stagetest.Hear(b, ipc.KindDrops, ipc.DecodeDrop),
		ends:   stagetest.Hear(b, ipc.KindEnd, ipc.DecodeEnd),
	}
}

// ack tells capture that a frame reached its end.
func (r *rig) ack(f ipc.Frame) {
	r.T.Helper()
	r.Publish(f.Camera, ipc.KindAck, &ipc.Ack{Camera: f.Camera, Seq: f.Seq})
}

// camera opens a camera as Run does; the source can then be replaced before it runs.
func (r *rig) camera(cfg config.Camera) *camera {
	r.T.Helper()
	c, err := openCamera(r.T.Context(), r.env, r.gpus, cfg, 0)
	if err != nil {
		r.T.Fatal(err)
	}
	r.T.Cleanup(func() { _ = c.Close() })
	c.flight = newFlight(time.Hour) // however slow this machine is, no frame is taken for lost
	if err := follow(r.env, func(name string) *flight {
		if name != c.cfg.Name {
			return nil
		}
		return c.flight
	}); err != nil {
		r.T.Fatal(err)
	}
	return c
}

// frame is a grabbed frame that comes into the ring, or is dropped.
func (r *rig) frame(c *camera, at int64) {
	r.T.Helper()
	if err := c.frame(r.T.Context(), at); err != nil {
		r.T.Fatal(err)
	}
}

// run starts a camera and returns what its end says.
func (r *rig) run(ctx context.Context, run func(context.Context) error) (ended chan error) {
	ended = make(chan error, 1)
	go func() { ended <- run(ctx) }()
	return ended
}

func (r *rig) mustEnd(ended chan error) {
	r.T.Helper()
	if err := stagetest.Next(r.T, ended); err != nil {
		r.T.Fatal(err)
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
