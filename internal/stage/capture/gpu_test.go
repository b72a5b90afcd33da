package capture

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"facetrack/gpuring"
	"facetrack/internal/config"
	"facetrack/internal/cuda"
	"facetrack/internal/fault"
	"facetrack/internal/source"
	"facetrack/internal/stage/stagetest"
	"facetrack/ipc"
)

// faults makes steps of the driver fail until the test ends.
func faults(t *testing.T, list string) {
	t.Helper()
	fault.Plan(list)
	t.Cleanup(func() { fault.Plan("") })
}

func (r *rig) ringStatus() RingStatus {
	r.T.Helper()
	s, ok := r.env.Telemetry.Snapshot().Cameras["cam0"].Ring.(RingStatus)
	if !ok {
		r.T.Fatalf("telemetry shows the ring as %T", s)
	}
	return s
}

// With a GPU the same frames are in its memory as well, and telemetry says in which.
func TestRingOnTheGPU(t *testing.T) {
	r, gpu := newRigWithGPU(t)
	c := r.camera(drawn("synthetic:faces=1,frames=9,size=320x240,format=NV12", "max"))
	d := c.ring.Descriptor()
	if d.Device == nil || d.Device.GPU != gpu.Device().UUID.String() {
		t.Fatalf("device memory %+v, want some on %s", d.Device, gpu.Device().UUID)
	}
	reader, err := gpuring.OpenDevice(d, "test", gpuring.DeviceOptions{GPU: gpu})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	stream, err := gpu.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	pinned, err := gpu.AllocPinned(c.ring.Geometry().FrameBytes())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pinned.Close() }()
	ended := r.run(t.Context(), c.run)
	for want := range uint32(9) {
		f := stagetest.Next(t, r.frames)
		lease, err := reader.Lease(f.Ticket())
		if err != nil {
			t.Fatal(err)
		}
		v := lease.View()
		if err := errors.Join(v.Fence.Wait(stream), stream.Download(pinned.Bytes(), v.Device), stream.Synchronize()); err != nil {
			t.Fatal(err)
		}
		if index, err := source.SyntheticIndex(pinned.Bytes(), f.Format, f.Width); err != nil || index != want {
			t.Errorf("on the GPU frame %d shows picture %d, %v", want, index, err)
		}
		if err := lease.Release(); err != nil {
			t.Error(err)
		}
		r.ack(f)
		if s := r.ringStatus(); s.Ring != f.Ring || s.GPU != d.Device.GPU || s.NoGPU != "" || s.Uploads < uint64(want)+1 {
			t.Errorf("telemetry %+v", s)
		}
	}
	r.mustEnd(ended)
}

// What keeps the ring from the GPU keeps it from nothing else, and is told.
func TestRingWithoutTheGPU(t *testing.T) {
	for _, step := range []string{"cuMemHostRegister", "cuMemAlloc", "cuIpcGetMemHandle"} {
		t.Run(step, func(t *testing.T) {
			r, _ := newRigWithGPU(t)
			faults(t, step+"=2")
			c := r.camera(drawn("synthetic:faces=0,frames=3,size=160x120", "max"))
			if c.ring.Descriptor().Device != nil || c.gpu != nil {
				t.Error("the ring is on the GPU")
			}
			if s := r.ringStatus(); s.GPU != "" || !strings.Contains(s.NoGPU, step+": CUDA_ERROR_OUT_OF_MEMORY (2)") {
				t.Errorf("telemetry %+v", s)
			}
			if s := r.env.Telemetry.Snapshot().Cameras["cam0"]; !strings.HasPrefix(s.State, "running without the GPU: ") || !strings.Contains(s.State, step) {
				t.Errorf("state %q", s.State)
			}
			ended := r.run(t.Context(), c.run)
			for range 3 {
				r.ack(stagetest.Next(t, r.frames))
			}
			r.mustEnd(ended)
		})
	}
}

// A GPU that fails while frames flow costs none of them: they go on in a ring without it. The ring after that one
// tries the GPU again.
func TestGPUThatFailsLater(t *testing.T) {
	for _, pace := range []string{"max", "realtime"} {
		t.Run(pace, func(t *testing.T) {
			r, _ := newRigWithGPU(t)
			c := r.camera(drawn("synthetic:faces=0,size=160x120", pace))
			src := c.replace(t)
			src.then = source.Info{Width: 320, Height: 240, Format: source.NV12, FPS: 30}
			first := c.ring.ID()
			faults(t, "cuMemcpyHtoDAsync=719@3")
			ended := r.run(t.Context(), c.run)
			for want := range uint64(9) {
				src.step(1)
				f := stagetest.Next(t, r.frames)
				if f.Seq != want || (f.Ring == first) != (want < 3) {
					t.Errorf("frame %d is in ring %s as number %d; the first ring was %s", want, f.Ring, f.Seq, first)
				}
				if want >= 3 {
					r.checkFilled(f, byte(want+1))
				}
				r.ack(f)
			}
			s := r.env.Telemetry.Snapshot().Cameras["cam0"]
			if len(s.Dropped) > 0 || !strings.Contains(s.State, "running without the GPU: ") || !strings.Contains(s.State, "719") {
				t.Errorf("telemetry %+v", s)
			}
			if ring := r.ringStatus(); ring.GPU != "" || !strings.Contains(ring.NoGPU, "cuMemcpyHtoDAsync") || ring.Ring == first {
				t.Errorf("ring %+v", ring)
			}
			fault.Plan("")
			src.steps <- source.ErrGeometry
			src.step(1)
			r.ack(stagetest.Next(t, r.frames))
			if ring := r.ringStatus(); ring.GPU == "" || ring.NoGPU != "" {
				t.Errorf("the ring after: %+v", ring)
			}
			if s := r.env.Telemetry.Snapshot().Cameras["cam0"]; s.State != "running" {
				t.Errorf("state %q", s.State)
			}
			src.steps <- io.EOF
			r.mustEnd(ended)
			if n := r.env.Telemetry.Snapshot().Cameras["cam0"].Frames; n != 10 {
				t.Errorf("%d frames, want 10", n)
			}
		})
	}
}

// checkFilled checks that a frame of a stepped source has the right pixels.
func (r *rig) checkFilled(f ipc.Frame, want byte) {
	r.T.Helper()
	link, err := ipc.NewLink(r.NC.Conn, stagetest.Rig, f.Camera, "test", ipc.LinkOptions{Allow: []ipc.Transport{ipc.SHM}, Timeout: stagetest.Deadline})
	if err != nil {
		r.T.Fatal(err)
	}
	defer func() { _ = link.Close() }()
	lease, err := link.Lease(r.T.Context(), f)
	if err != nil {
		r.T.Fatal(err)
	}
	if pixels := lease.View().Host; !bytes.Equal(pixels, bytes.Repeat([]byte{want}, len(pixels))) {
		r.T.Errorf("frame %d begins with %d, want %d everywhere", f.Seq, pixels[0], want)
	}
	if err := lease.Release(); err != nil {
		r.T.Error(err)
	}
}

func TestConfigurationWithoutGPU(t *testing.T) {
	for want, change := range map[string]func(*config.Config){
		"cuda.gpu: off":   func(c *config.Config) { c.CUDA.GPU = "off" },
		"ring.transports": func(c *config.Config) { c.CUDA.GPU, c.Ring.Transports = "auto", []string{"shm", "copy"} },
	} {
		r := newRig(t)
		change(&r.env.Config)
		r.gpus = newGPUs(r.env.Config, r.env.Log)
		r.camera(drawn("synthetic:faces=0,frames=1,size=160x120", "max"))
		if s := r.ringStatus(); s.GPU != "" || !strings.Contains(s.NoGPU, want) {
			t.Errorf("telemetry %+v, want %q as the reason", s, want)
		}
		if s := r.env.Telemetry.Snapshot().Cameras["cam0"].State; s != "running" {
			t.Errorf("state %q", s)
		}
	}
}

// Each reason is told once in a process, and only what somebody may want to repair as a warning.
func TestReasonsAreToldOnce(t *testing.T) {
	for _, c := range []struct {
		gpu   string
		err   error
		level string
		cure  string
	}{
		{"auto", cuda.ErrNotBuilt, "INFO", "make build"},
		{"auto", cuda.ErrNoDriver, "INFO", "install"},
		{"auto", &cuda.Error{Call: "cuInit", Code: cuda.NoDevice}, "INFO", "CUDA_VISIBLE_DEVICES"},
		{"auto", &cuda.Error{Call: "cuMemcpyHtoDAsync", Code: cuda.LaunchFailed}, "WARN", "start capture again"},
		{"auto", &cuda.Error{Call: "cuInit", Code: 999}, "WARN", "facetrack doctor"},
		{"auto", fmt.Errorf("%w: %w", gpuring.ErrDevice, &cuda.Error{Call: "cuMemAlloc", Code: cuda.OutOfMemory}), "WARN", "ring.slots"},
		{"auto", hang{"the GPU has not finished an upload for 2.0 s"}, "WARN", "start capture again"},
		{"3", cuda.ErrNoSuchDevice, "WARN", "nvidia-smi -L"},
		{"3", cuda.ErrNoDriver, "WARN", "install"},
	} {
		var log bytes.Buffer
		cfg := config.Default()
		cfg.CUDA.GPU = c.gpu
		g := newGPUs(cfg, slog.New(slog.NewJSONHandler(&log, nil)))
		why := g.tell("capture has no GPU", c.err)
		g.tell("capture has no GPU", c.err)
		var line struct{ Level, Reason string }
		if err := json.Unmarshal(log.Bytes(), &line); err != nil { // also when there are two lines
			t.Fatalf("%v: %s", err, &log)
		}
		if line.Level != c.level || line.Reason != why || !strings.Contains(why, c.err.Error()) || !strings.Contains(why, c.cure) {
			t.Errorf("%v: %s; want %s and %q", c.err, &log, c.level, c.cure)
		}
	}
}

func TestDepthHoldsTheWindow(t *testing.T) {
	for _, c := range []struct{ least, window, slots, want int }{
		{4, 0, 8, 4}, {4, 6, 8, 8}, {4, 1, 8, 4}, {4, 3, 8, 5}, {4, 1, 2, 2}, {4, 0, 3, 3},
	} {
		if got := depth(c.least, c.window, c.slots); got != c.want {
			t.Errorf("depth of %+v is %d", c, got)
		}
	}
}
