//go:build cuda

package links

import (
	"errors"
	"testing"
	"time"

	"facetrack/gpuring"
	"facetrack/internal/config"
	"facetrack/internal/cuda"
	"facetrack/internal/cuda/cudatest"
	"facetrack/internal/fault"
	"facetrack/internal/stage/stagetest"
	"facetrack/ipc"
)

// onSecondGPU makes a set that expects frames on the second GPU, which nobody else in this process uses.
func (r *rig) onSecondGPU(change func(*config.Config)) *Set {
	r.T.Helper()
	devices, err := cuda.Devices()
	if err != nil {
		r.T.Fatal(err)
	}
	if len(devices) < 2 {
		r.T.Skip("NOT RUN: there is one GPU here")
	}
	set := r.setWith(func(c *config.Config) {
		c.CUDA.GPU = "1"
		change(c)
	})
	r.warm(set, true)
	return set
}

// warm checks whether the second GPU has a context.
func (r *rig) warm(set *Set, want bool) {
	r.T.Helper()
	if set.warm.is() != want {
		r.T.Errorf("warm: %v, want %v", !want, want)
	}
	set.warm.closing.Wait()
	fault.Plan("cuDevicePrimaryCtxRetain=46") // a new one cannot be made
	defer fault.Plan("")
	gpu, err := cuda.Open(cuda.Device{Ordinal: 1})
	if (err == nil) != want {
		r.T.Errorf("the GPU has a context: %v (%v), want %v", !want, err, want)
	}
	if err := gpu.Close(); err != nil {
		r.T.Error(err)
	}
}

// The context that was made in advance goes when the first frames turn out to be in host memory, or on another GPU.
func TestContextThatNobodyNeeds(t *testing.T) {
	t.Setenv("FAKE_CUDA_DEVICES", "2")
	for name, start := range map[string]func(*rig, *cuda.Context){
		"host memory": func(r *rig, _ *cuda.Context) { r.start() }, "another GPU": (*rig).startOn,
	} {
		t.Run(name, func(t *testing.T) {
			first := cudatest.Use(t)
			r := &rig{Bus: stagetest.NewBus(t), dir: t.TempDir()}
			start(r, first)
			set := r.onSecondGPU(unchanged)
			for range 2 {
				if o := consumeOne(set, r.write()); !o.Used || o.Reason != "" || o.Link.Transport != "shm" {
					t.Errorf("%+v, link %+v", o, o.Link)
				}
			}
			r.warm(set, false)
		})
	}
}

// A camera that has not come yet may need it.
func TestContextThatMayBeNeeded(t *testing.T) {
	t.Setenv("FAKE_CUDA_DEVICES", "2")
	cudatest.Use(t)
	r := newRig(t)
	set := r.onSecondGPU(func(c *config.Config) { c.Cameras = []config.Camera{{Name: stagetest.Camera}, {Name: "late"}} })
	consume := func() {
		t.Helper()
		if o := consumeOne(set, r.write()); !o.Used || o.Reason != "" {
			t.Errorf("%+v", o)
		}
	}
	consume()
	r.warm(set, true)
	late, err := set.link("late")
	if err != nil {
		t.Fatal(err)
	}
	if err := late.Attach(t.Context(), ""); !errors.Is(err, ipc.ErrNoCapture) {
		t.Errorf("%v", err)
	}
	consume()
	r.warm(set, true)
	w, err := gpuring.Create(gpuring.Options{Dir: r.dir, Rig: stagetest.Rig, Camera: "late", Geometry: geometry})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	s, err := ipc.NewServer(r.Connect().Conn, stagetest.Rig, "late", w, stagetest.Quiet, ipc.ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := late.Attach(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	consume()
	r.warm(set, false)
}

// A stage that has nothing to read, or a dead camera, does not keep it for ever.
func TestContextThatNobodyComesFor(t *testing.T) {
	t.Setenv("FAKE_CUDA_DEVICES", "2")
	cudatest.Use(t)
	r := newRig(t)
	set := r.onSecondGPU(unchanged)
	if err := set.warm.close(); err != nil {
		t.Fatal(err)
	}
	set.warm.upFor(set.env, time.Millisecond)
	r.Eventually("the context goes", func() bool { return !set.warm.is() })
	r.warm(set, false)
}

// A link that reads from the GPU keeps the context, also while it has no ring: the process makes one context, ever.
func TestReattachMakesNoContext(t *testing.T) {
	r := newGPURig(t)
	child := startConsumer(t, r.URL, fault.Variable+"=cuDevicePrimaryCtxRetain=2@1")
	for n := range 3 {
		for range 2 * geometry.Slots {
			if o := child.use(r.write()); !o.Used || o.Link.Transport != "cuda-ipc" || o.Link.Reattach != uint64(n) {
				t.Errorf("ring %d: %+v, link %+v", n, o, o.Link)
			}
		}
		if err := errors.Join(r.Server.Close(), r.Writer.Close()); err != nil {
			t.Fatal(err)
		}
		r.startOn(cudatest.Use(t))
	}
}
