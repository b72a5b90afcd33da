//go:build cuda

package detect

import (
	"errors"
	"strings"
	"testing"

	"facetrack/internal/config"
	"facetrack/internal/cuda"
	"facetrack/internal/cuda/cudatest"
	"facetrack/internal/fault"
	"facetrack/internal/source"
	"facetrack/internal/stage"
	"facetrack/internal/stage/links"
	"facetrack/internal/stage/stagetest"
	"facetrack/internal/stage/workers"
	"facetrack/internal/telemetry"
	"facetrack/ipc"
)

// newGPURig is newRig with the ring and the networks on a GPU.
func newGPURig(t *testing.T, spec string, slots int) *rig {
	t.Helper()
	cudatest.Emulate(t, "internal/kernels/nn", "internal/kernels/image", "internal/kernels/faces")
	gpu := cudatest.Use(t)
	t.Cleanup(func() { fault.Plan("") })
	b := stagetest.NewBus(t)
	cfg := b.Config()
	cfg.Detect.MaxQueue, cfg.Detect.Every, cfg.Infer.MaxBatch, cfg.CUDA.GPU = slots, 1, 4, "auto"
	cfg.Infer.Backend, cfg.Infer.Precision = "cuda", "fp32"
	return &rig{
		Bus: b, Film: stagetest.NewGPUFilm(b, cfg.Ring.Dir, spec, slots, gpu), cfg: cfg,
		out:   stagetest.Hear(b, ipc.KindDetections, ipc.DecodeDetections),
		drops: stagetest.Hear(b, ipc.KindDrops, ipc.DecodeDrop),
	}
}

// look has the next frame looked at.
func (r *rig) look() ipc.Detections {
	r.T.Helper()
	f := r.Frame()
	r.Publish(stagetest.Camera, ipc.KindFrame, &f)
	d := stagetest.Next(r.T, r.out)
	if d.Seq != f.Seq || !d.Ran {
		r.T.Errorf("frame %d: ran %v, want %d", d.Seq, d.Ran, f.Seq)
	}
	return d
}

// check looks at the next frame and finds the faces where they were drawn.
func (r *rig) check() {
	r.T.Helper()
	d := r.look()
	checkFaces(r.T.(*testing.T), d, source.SyntheticTruth(r.Params, int64(d.Seq))) //nolint:gosec,forcetypeassert // a few frames, of a test
}

func TestFacesAreFoundOnTheGPU(t *testing.T) {
	for transport, want := range map[string]string{"cuda-ipc": "cuda", "shm": "shm", "copy": "copy"} {
		t.Run(transport, func(t *testing.T) {
			r := newGPURig(t, "synthetic:faces=2,seed=4,format=NV12", 4)
			r.cfg.Ring.Transports = []string{transport}
			r.start()
			const frames = 6 // more than slots
			for range frames {
				r.check()
			}
			link := r.env.Telemetry.Snapshot().Cameras["cam"].Link
			if err := r.stop(); err != nil {
				t.Error(err)
			}
			s := r.env.Telemetry.Snapshot()
			if c := s.Cameras["cam"]; s.Backend != "cuda" || s.Because != "" || c.Frames != frames || len(c.Dropped) != 0 || link.Transport != want {
				t.Errorf("%+v, link %+v", s, link)
			}
			if held := r.Writer.Stats().Held; held != 0 {
				t.Errorf("%d slots are still held", held)
			}
		})
	}
}

// A frame that was overwritten is dropped with its reason, also out of a batch.
func TestOverwrittenFrameIsDroppedOnTheGPU(t *testing.T) {
	r := newGPURig(t, "synthetic:faces=1,size=320x240", 2)
	r.start()
	r.check()
	old := r.Frame()
	r.Frame()
	r.Frame()
	r.Publish("cam", ipc.KindFrame, &old)
	if d := stagetest.Next(t, r.drops); d.Reason != "overwritten" || d.Seqs[0] != old.Seq {
		t.Errorf("drop %+v", d)
	}
	r.check()
}

// What ails one frame of a batch is its own matter.
func TestBatchOnTheGPU(t *testing.T) {
	r := newGPURig(t, "synthetic:faces=1,size=320x240", 4)
	env := r.Env(stage.Detect, r.cfg)
	d := &detector{env: env, links: links.New(env)}
	defer func() { _ = d.links.Close() }()
	health := workers.NewHealth(stagetest.Quiet)
	lookers, err := d.openGPU(health)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = errors.Join(lookers[0].Close(), lookers[1].Close()) }()
	first := r.Frame()
	if d.apart(lookers[0])(first) != true {
		t.Error("a camera that was never attached to is waited for")
	}
	frames := []ipc.Frame{first, r.Frame(), r.Frame(), r.Frame(), r.Frame()} // of four slots: the first is overwritten
	frames[2].Format = "RAW"
	sights := lookers[1].look(t.Context(), frames)
	for i, want := range []string{"overwritten", "", "bad-frame", "", ""} {
		if s := sights[i]; s.reason != want || (s.err == nil) != (want == "") || len(s.faces) != map[bool]int{true: 1, false: 0}[want == ""] {
			t.Errorf("frame %d: %q, %v, %d faces; want %q", i, s.reason, s.err, len(s.faces), want)
		}
	}
	if d.apart(lookers[0])(frames[1]) || d.apart(&onHost{}) != nil {
		t.Error("an attached camera is apart, or one on the CPU")
	}
	fault.Plan("cuGraphLaunch=999,cuLaunchKernel=999")
	for _, s := range lookers[0].look(t.Context(), frames[3:]) {
		if s.reason != "gpu" || s.err == nil {
			t.Errorf("without the GPU: %q, %v", s.reason, s.err)
		}
	}
	if held := r.Writer.Stats().Held; held != 0 || health.Err() != nil {
		t.Errorf("%d slots are still held, %v", held, health.Err())
	}
}

// Without a GPU that can, auto stays on the CPU and says why.
func TestAutoWithoutAGPUThatCan(t *testing.T) {
	for step, says := range map[string]string{
		"cuModuleLoadData=2":            "cuModuleLoadData",
		"cuLaunchKernel=801":            "trial run",
		"cuMemAlloc=2,cuMemHostAlloc=2": "memory",
	} {
		t.Run(step, func(t *testing.T) {
			r := newGPURig(t, "synthetic:faces=1,size=320x240", 4)
			r.cfg.Infer.Backend, r.cfg.Infer.Precision, r.cfg.Ring.Transports = "auto", "auto", []string{"shm"}
			fault.Plan(step)
			r.start()
			fault.Plan("")
			r.check()
			if s := r.env.Telemetry.Snapshot(); s.Backend == "cuda" || !strings.Contains(s.Because, says) {
				t.Errorf("%s because %q", s.Backend, s.Because)
			}
		})
	}
}

// A GPU that is lost on the way costs frames of one batch, which say so; then the CPU takes over.
func TestLostGPUIsReplacedByTheCPU(t *testing.T) {
	r := newGPURig(t, "synthetic:faces=1,size=320x240", 4)
	r.cfg.Infer.Backend, r.cfg.Infer.Precision = "auto", "auto"
	r.start()
	r.check()
	fault.Plan("cuGraphLaunch=719,cuLaunchKernel=719")
	f := r.Frame()
	r.Publish("cam", ipc.KindFrame, &f)
	if d := stagetest.Next(t, r.drops); d.Reason != "gpu" || d.Seqs[0] != f.Seq {
		t.Errorf("drop %+v", d)
	}
	r.check()
	r.check()
	if s := r.env.Telemetry.Snapshot(); s.Backend == "cuda" || !strings.Contains(s.Because, "the GPU was lost") || s.Cameras["cam"].Dropped["gpu"] != 1 {
		t.Errorf("%+v", s)
	}
}

// A process that is started again ends instead.
func TestLostGPUEndsAProcess(t *testing.T) {
	r := newGPURig(t, "synthetic:faces=1,size=320x240", 4)
	r.cfg.Infer.Backend = "auto"
	env := r.Env(stage.Detect, r.cfg)
	env.Renewed = true
	ready, ended := make(chan struct{}), make(chan error, 1)
	env.Ready = func() { close(ready) }
	go func() { ended <- Run(t.Context(), env) }()
	<-ready
	if err := env.Bus.Flush(); err != nil {
		t.Fatal(err)
	}
	r.check()
	fault.Plan("cuGraphLaunch=719,cuLaunchKernel=719")
	f := r.Frame()
	r.Publish("cam", ipc.KindFrame, &f)
	if err := stagetest.Next(t, ended); !errors.Is(err, cuda.LaunchFailed) || errors.Is(err, stage.ErrPermanent) {
		t.Errorf("run: %v", err)
	}
}

func TestNamedGPUThatIsOffIsPermanent(t *testing.T) {
	cfg := config.Default()
	files := stagetest.NewBus(t).Config()
	cfg.Detect.Model, cfg.Infer.Backend, cfg.CUDA.GPU = files.Detect.Model, "cuda", "off"
	err := Run(t.Context(), &stage.Env{Config: cfg, Telemetry: telemetry.New(stage.Detect), Log: stagetest.Quiet})
	if !errors.Is(err, stage.ErrPermanent) || !strings.Contains(err.Error(), "infer.backend is cuda") || !strings.Contains(err.Error(), "off") {
		t.Errorf("run: %v", err)
	}
}
