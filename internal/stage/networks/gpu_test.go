//go:build cuda

package networks

import (
	"errors"
	"math"
	"strings"
	"testing"

	"facetrack/internal/config"
	"facetrack/internal/cuda"
	"facetrack/internal/cuda/cudatest"
	"facetrack/internal/fault"
	"facetrack/internal/gpuvision"
	"facetrack/internal/models"
	"facetrack/internal/stage/stagetest"
	"facetrack/internal/testmodels"
	"facetrack/topology"
	"facetrack/vision"
)

// onGPU is configured for a GPU.
func onGPU(t *testing.T) config.Config {
	t.Helper()
	cudatest.Emulate(t, "internal/kernels/nn", "internal/kernels/image", "internal/kernels/faces")
	cudatest.Use(t)
	t.Cleanup(func() { fault.Plan("") })
	cfg := configured(t)
	cfg.Infer.Backend, cfg.Infer.Precision, cfg.Infer.MaxBatch = "cuda", "fp32", 2
	return cfg
}

func TestDetectorsOnTheGPU(t *testing.T) {
	all, err := OpenGPUDetectors(onGPU(t), 2, stagetest.Quiet)
	if err != nil || len(all) != 2 {
		t.Fatalf("%d detectors, %v", len(all), err)
	}
	image, truth := picture(t)
	for _, d := range all {
		sights, err := d.Detect([]gpuvision.Frame{{Image: image}})
		if err != nil || sights[0].Err != nil || len(sights[0].Faces) != 1 || d.Backend() != "cuda" || d.GPU == (cuda.UUID{}) {
			t.Fatalf("%+v, %v, on %v", sights, err, d.GPU)
		}
		if x, y := sights[0].Faces[0].Box.Center(); math.Hypot(x-truth.CX, y-truth.CY) > 1 {
			t.Errorf("a face at %.1f, %.1f, drawn at %.1f, %.1f", x, y, truth.CX, truth.CY)
		}
		if err := d.Close(); err != nil { // the other one goes on
			t.Error(err)
		}
	}
}

func TestLandmarksOnTheGPU(t *testing.T) {
	cfg := onGPU(t)
	landmarksOnTheGPU(t, cfg, topology.MediaPipe)
	files, err := testmodels.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cfg.Landmarks.Model = files.Face
	landmarksOnTheGPU(t, cfg, topology.ICT)
}

func landmarksOnTheGPU(t *testing.T, cfg config.Config, set *topology.Topology) {
	t.Helper()
	all, err := OpenGPULandmarks(cfg, 0.5, 2, stagetest.Quiet)
	if err != nil || len(all) != 2 {
		t.Fatalf("%d landmarkers, %v", len(all), err)
	}
	image, truth := picture(t)
	for _, l := range all {
		found, err := l.Find([]gpuvision.Look{{Frame: gpuvision.Frame{Image: image}, ROIs: []vision.ROI{{CX: truth.CX, CY: truth.CY, Size: 1.5 * truth.Size}}}})
		if err != nil || found[0].Err != nil || l.Topology() != set || l.Backend() != "cuda" {
			t.Fatalf("%+v, %v", found, err)
		}
		f := found[0].Faces[0]
		p := f.Points[set.Eyes[0].Iris]
		if math.Hypot(p[0]-truth.RightEye[0], p[1]-truth.RightEye[1]) > 1 || len(f.Blendshapes) != 52 || !f.HasNext {
			t.Errorf("right iris at %v, drawn at %v, %d blendshapes", p, truth.RightEye, len(f.Blendshapes))
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Whatever is in the way shows when the networks are opened, and leaves nothing behind.
func TestGPUThatCannotRunNetworks(t *testing.T) {
	cfg := onGPU(t)
	holder, err := gpuvision.OpenDevice("auto") // so that what follows is compared with loaded kernels
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holder.Close() }()
	free, _, err := holder.Context().MemInfo()
	if err != nil {
		t.Fatal(err)
	}
	for step, want := range map[string]cuda.Code{
		"cuLaunchKernel=801": cuda.NotSupported, "cuStreamSynchronize=719@1": cuda.LaunchFailed, "cuMemHostAlloc=2": cuda.OutOfMemory, "cuMemAlloc=2@3": cuda.OutOfMemory,
	} {
		for name, open := range map[string]func() error{
			"detectors": func() error { _, err := OpenGPUDetectors(cfg, 2, stagetest.Quiet); return err },
			"landmarks": func() error { _, err := OpenGPULandmarks(cfg, 0.5, 2, stagetest.Quiet); return err },
		} {
			fault.Plan(step)
			err := open()
			fault.Plan("")
			if !errors.Is(err, want) || !strings.Contains(err.Error(), holder.Info().Name) {
				t.Errorf("%s, %s: %v", step, name, err)
			}
		}
	}
	if now, _, err := holder.Context().MemInfo(); err != nil || now != free {
		t.Errorf("%d bytes of the GPU are free, %d before, %v", now, free, err)
	}
}

func TestGPUIsTriedAfterTheModels(t *testing.T) {
	cfg := onGPU(t)
	cfg.CUDA.GPU = "off"
	if _, err := OpenGPUDetectors(cfg, 1, stagetest.Quiet); err == nil || !strings.Contains(err.Error(), "off") {
		t.Errorf("switched off: %v", err)
	}
	cfg.Detect.Model, cfg.Landmarks.Model = "./none.onnx", "./none.task"
	_, noDetector := OpenGPUDetectors(cfg, 1, stagetest.Quiet)
	_, noLandmarks := OpenGPULandmarks(cfg, 0.5, 1, stagetest.Quiet)
	if !errors.Is(noDetector, models.ErrMissing) || !errors.Is(noLandmarks, models.ErrMissing) {
		t.Errorf("%v, %v", noDetector, noLandmarks)
	}
}
