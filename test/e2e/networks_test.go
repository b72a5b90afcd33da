//go:build e2e && cuda

package e2e

import (
	"strings"
	"testing"

	"facetrack/internal/cuda/cudatest"
	"facetrack/internal/stage"
	"facetrack/internal/telemetry"
)

// withNetworks is withGPU; where the driver is an imitation, it runs the kernels of networks as well.
func (r *rig) withNetworks() *rig {
	r.t.Helper()
	cudatest.Emulate(r.t, "internal/kernels/nn", "internal/kernels/image", "internal/kernels/faces")
	return r.withGPU()
}

// Networks on the GPU find what those on the CPU find, whichever way the frames come.
func TestNetworksOnTheGPU(t *testing.T) {
	for _, mode := range []struct {
		name, transport string
		flags           []string
	}{
		{"processes", "cuda-ipc", nil},
		{"threads", "cuda", []string{"--threads"}},
		{"host copies", "shm", []string{"--transport", "shm", "--transport", "copy"}},
		{"over NATS", "copy", []string{"--transport", "copy", "--infer-mode", "throughput"}},
	} {
		t.Run(mode.name, func(t *testing.T) {
			r, drawn := prepare(t).withNetworks(), apart(t, 30)
			s := r.up(append([]string{
				"--config", r.config("tracker: {keep_raw: true}\n"), "--source", drawn, "--pace", "max", "--record", r.path("a.jsonl"),
				"--backend", "cuda", "--precision", "fp32",
			}, mode.flags...)...).mustEnd()
			cam := s.Cameras["cam0"]
			if cam.Captured != 30 || cam.Tracked != 30 {
				t.Errorf("captured %d, tracked %d, want 30; dropped %v", cam.Captured, cam.Tracked, cam.Dropped)
			}
			if s.Backends[stage.Detect] != "cuda" || s.Backends[stage.Landmarks] != "cuda" {
				t.Errorf("backends %v", s.Backends)
			}
			checkLinks(t, cam, mode.transport)
			checkTruth(t, tracks(t, r.path("a.jsonl")), drawn)
		})
	}
}

// The frames of several cameras are looked at together, and each has its own faces.
func TestCamerasShareTheGPU(t *testing.T) {
	r := prepare(t).withNetworks()
	args := []string{"--config", r.config(""), "--backend", "cuda", "--precision", "fp32", "--pace", "max"}
	const cameras, frames = 2, 6
	for range cameras {
		args = append(args, "--source", apart(t, frames))
	}
	s := r.up(args...).mustEnd()
	for name, cam := range s.Cameras {
		if cam.Captured != frames || cam.Tracked != frames || cam.Faces < frames { // two, once they are sure
			t.Errorf("%s: captured %d, tracked %d, %d faces; dropped %v", name, cam.Captured, cam.Tracked, cam.Faces, cam.Dropped)
		}
	}
	if len(s.Cameras) != cameras {
		t.Errorf("%d cameras", len(s.Cameras))
	}
}

// The GPU fails for all processes at once: detect and landmarks end and are started again. Where the GPU has failed for good, they go
// on on the CPU and say why.
func TestNetworksOutliveTheGPU(t *testing.T) {
	r := prepare(t).withNetworks()
	lose := r.canLoseTheGPU()
	r.up("--config", r.config(""), "--source", "synthetic:faces=1,size=320x240,fps=30", "--pace", "max", "--no-lsl", "--precision", "fp32")
	var before map[string]telemetry.Stats
	r.eventually("networks run on the GPU", func() bool {
		before = r.services()
		return before[stage.Detect].Backend == "cuda" && before[stage.Landmarks].Backend == "cuda" && before[stage.Tracker].Cameras["cam0"].Faces > 10
	})
	lose()
	var since uint64
	r.eventually("frames flow again", func() bool {
		all := r.services()
		faces := all[stage.Tracker].Cameras["cam0"].Faces
		for _, name := range []string{stage.Detect, stage.Landmarks} {
			s := all[name]
			again := s.PID != before[name].PID && (s.Backend == "cuda" || strings.Contains(s.Because, "cu"))
			if !again || linkOf(s).Transport != "shm" { // capture's own context is lost as well
				since = faces
				return false
			}
		}
		return faces > since+20
	})
	r.interrupt()
	r.mustEnd()
}
