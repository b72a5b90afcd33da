//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"facetrack/internal/stage"
	"facetrack/internal/telemetry"
)

// failure is a step on the way to device memory that fails in one process, and what is heard of it.
type failure struct {
	step string
	why  []string // words of the reason that the link gives for its transport
	next string   // the transport that it takes; shm when empty
}

// failures of consumers. Two share a run: detect has one, landmarks the other.
var failures = []failure{
	{step: "cuInit=100", why: []string{"shows no GPU here", "CUDA_VISIBLE_DEVICES", "(100)"}},
	{step: "cuDevicePrimaryCtxRetain=2", why: []string{"no memory left", "cuDevicePrimaryCtxRetain", "(2)"}},
	{step: "uuid=other", why: []string{"not visible here", "CUDA_VISIBLE_DEVICES"}},
	{step: "mig=1", why: []string{"MIG instance", "nvidia-smi -mig 0"}},
	{step: "integrated=1", why: []string{"shares its memory with the CPU", "--threads"}},
	{step: "peer=none", why: []string{"no peer access", "cuda.gpu"}},
	{step: "pid=same", why: []string{"both have the process id", "PID namespace"}},
	{step: "permission=1", why: []string{"permission denied"}},
	{step: "cuIpcOpenMemHandle=201", why: []string{"cuIpcOpenMemHandle", "(201)"}},
	{step: "cuIpcOpenMemHandle=208", why: []string{"cuIpcOpenMemHandle", "(208)"}},
	{step: "cuIpcOpenEventHandle=205", why: []string{"separate IPC namespaces", "--ipc=host", "(205)"}},
	{step: "canary=zeros", why: []string{"zeros"}},
	{step: "canary=stale", why: []string{"what capture has just written"}},
	{step: "generation=1", why: []string{"ring was renewed"}},
}

// A consumer that cannot read device memory, for whatever reason, gets every frame in another way and says why.
func TestFailingAttach(t *testing.T) {
	for pair := range slices.Chunk(failures, 2) {
		detect, landmarks := pair[0], pair[1]
		t.Run(detect.step+","+landmarks.step, func(t *testing.T) {
			t.Parallel()
			r := prepare(t).withGPU()
			r.env = append(r.env, "FACETRACK_FAULTS_DETECT="+detect.step, "FACETRACK_FAULTS_LANDMARKS="+landmarks.step)
			r.runWith(map[string]failure{stage.Detect: detect, stage.Landmarks: landmarks}, "cuda: {sync: events}\n", nil)
		})
	}
}

// Capture that cannot keep frames on the GPU, or cannot any more, delivers every frame from host memory and says why.
func TestFailingGPUOfCapture(t *testing.T) {
	for _, f := range []failure{
		{step: "cuInit=100", why: []string{"cuInit", "(100)"}},
		{step: "cuMemHostRegister=2", why: []string{"cuMemHostRegister", "(2)"}},
		{step: "cuMemAlloc=2", why: []string{"cuMemAlloc", "(2)"}},
		{step: "cuIpcGetMemHandle=801", why: []string{"cuIpcGetMemHandle", "(801)"}},
		{step: "cuMemcpyHtoDAsync=719@20", why: []string{"cuMemcpyHtoDAsync", "(719)"}},
	} {
		t.Run(f.step, func(t *testing.T) {
			t.Parallel()
			r := prepare(t).withGPU()
			r.env = append(r.env, "FACETRACK_FAULTS_CAPTURE="+f.step)
			r.runWith(map[string]failure{stage.Detect: f, stage.Landmarks: f}, "", func(all map[string]telemetry.Stats) {
				ring, _ := all[stage.Capture].Cameras["cam0"].Ring.(map[string]any)
				for _, word := range f.why {
					if why, _ := ring["no_gpu"].(string); !strings.Contains(why, word) {
						t.Errorf("capture does not say %q: %q", word, why)
					}
				}
			})
		})
	}
}

// runWith runs the rig until frames come from links that fail as said, and checks that each frame was delivered.
func (r *rig) runWith(links map[string]failure, config string, also func(map[string]telemetry.Stats)) {
	r.t.Helper()
	r.up("--config", r.config(config), "--source", "synthetic:faces=1,size=320x240,fps=30", "--pace", "max", "--no-lsl")
	r.eventually("frames flow as they can", func() bool {
		all := r.services()
		for name, f := range links {
			if linkOf(all[name]).Transport != f.transport() {
				return false
			}
		}
		return all[stage.Tracker].Cameras["cam0"].Faces > 40
	})
	for from, all := range map[string]map[string]telemetry.Stats{"facetrack status": r.status(), "the NATS service": r.services()} {
		for name, f := range links {
			if err := f.told(linkOf(all[name])); err != nil {
				r.t.Errorf("%s, %s of %s: %v", f.step, from, name, err)
			}
		}
		if also != nil {
			also(all)
		}
	}
	r.interrupt()
	cam := r.mustEnd().Cameras["cam0"]
	if cam.Captured != cam.Tracked || cam.Captured < 40 {
		r.t.Errorf("captured %d, tracked %d; dropped %v", cam.Captured, cam.Tracked, cam.Dropped)
	}
}

func (f failure) transport() string {
	if f.next == "" {
		return "shm"
	}
	return f.next
}

// told checks what a link says about the failure.
func (f failure) told(l telemetry.Link) error {
	for _, word := range f.why {
		if !strings.Contains(l.Reason, word) {
			return fmt.Errorf("the reason does not say %q: %q", word, l.Reason)
		}
	}
	for _, a := range l.Attempts {
		if a.Transport == "cuda-ipc" && a.Reason != "" {
			return nil
		}
	}
	return fmt.Errorf("no attempt at cuda-ipc: %+v", l.Attempts)
}
