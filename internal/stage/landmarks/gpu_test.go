//go:build cuda

package landmarks

import (
	"errors"
	"strings"
	"testing"

	"facetrack/internal/cuda/cudatest"
	"facetrack/internal/fault"
	"facetrack/internal/stage"
	"facetrack/internal/stage/stagetest"
	"facetrack/ipc"
	"facetrack/vision"
)

// newGPURig is newRig with the ring and the networks on a GPU.
func newGPURig(t *testing.T, spec string, slots int) *rig {
	t.Helper()
	cudatest.Emulate(t, "internal/kernels/nn", "internal/kernels/image", "internal/kernels/faces")
	gpu := cudatest.Use(t)
	t.Cleanup(func() { fault.Plan("") })
	b := stagetest.NewBus(t)
	cfg := b.Config()
	cfg.Landmarks.MaxQueue, cfg.Infer.MaxBatch, cfg.CUDA.GPU = slots, 4, "auto"
	cfg.Infer.Backend, cfg.Infer.Precision = "cuda", "fp32"
	return &rig{
		Bus: b, Film: stagetest.NewGPUFilm(b, cfg.Ring.Dir, spec, slots, gpu), cfg: cfg,
		out:   stagetest.Hear(b, ipc.KindLandmarks, ipc.DecodeLandmarks),
		drops: stagetest.Hear(b, ipc.KindDrops, ipc.DecodeDrop),
	}
}

// pass announces a frame, with what the detector saw in the first one.
func (r *rig) pass(number int) ipc.Frame {
	r.T.Helper()
	f := r.Frame()
	f.CaptureNS = t0 + int64(number)*33e6
	d := ipc.Detections{Frame: f, Faces: []ipc.Detection{}}
	if number == 0 {
		d = r.look(f)
	}
	r.Publish("cam", ipc.KindDetections, &d)
	return f
}

// check passes frame number on and finds its faces where they were drawn.
func (r *rig) check(number int) {
	r.T.Helper()
	r.pass(number)
	r.checkPoints(stagetest.Next(r.T, r.out), map[bool]string{true: "detection", false: "tracked"}[number == 0])
}

func TestFacesAreFollowedOnTheGPU(t *testing.T) {
	for transport, want := range map[string]string{"cuda-ipc": "cuda", "shm": "shm", "copy": "copy"} {
		t.Run(transport, func(t *testing.T) {
			r := newGPURig(t, "synthetic:faces=2,seed=4,fps=30,format=NV12", 4)
			r.cfg.Ring.Transports = []string{transport}
			r.start()
			const frames = 6 // more than slots
			for i := range frames {
				r.check(i)
			}
			link := r.env.Telemetry.Snapshot().Cameras["cam"].Link
			if err := r.stop(); err != nil {
				t.Error(err)
			}
			s := r.env.Telemetry.Snapshot()
			if c := s.Cameras["cam"]; s.Backend != "cuda" || s.Because != "" || c.Frames != frames || c.Faces != 2*frames || link.Transport != want {
				t.Errorf("%+v, link %+v", s, link)
			}
			if held := r.Writer.Stats().Held; held != 0 {
				t.Errorf("%d slots are still held", held)
			}
		})
	}
}

// Where the GPU says that a face is, the next frame is looked at; without its word, where the points say so.
func TestPlacesOfTheGPU(t *testing.T) {
	at := &place{}
	at.roi.Size = 99
	f := found{results: []vision.FaceResult{result(200, 150, 1), result(450, 300, 1)}, places: []*place{at, nil}}
	first, err := f.place(0)
	second, again := f.place(1)
	if err = errors.Join(err, again); err != nil || first != *at || second.roi.CX < 400 || second.roi.CX > 500 {
		t.Errorf("%+v, %+v, %v", first, second, err)
	}
}

func TestLostGPUIsReplacedByTheCPU(t *testing.T) {
	r := newGPURig(t, "synthetic:faces=1,fps=30", 4)
	r.cfg.Infer.Backend, r.cfg.Infer.Precision = "auto", "auto"
	r.start()
	r.check(0)
	fault.Plan("cuGraphLaunch=719,cuLaunchKernel=719")
	f := r.pass(1)
	if d := stagetest.Next(t, r.drops); d.Reason != "gpu" || d.Seqs[0] != f.Seq || d.Stage != stage.Landmarks {
		t.Errorf("drop %+v", d)
	}
	r.check(2)
	if s := r.env.Telemetry.Snapshot(); s.Backend == "cuda" || !strings.Contains(s.Because, "the GPU was lost") {
		t.Errorf("%+v", s)
	}
}
