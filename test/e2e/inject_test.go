//go:build e2e

package e2e

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"facetrack/internal/app"
	"facetrack/internal/fault"
	"facetrack/internal/stage"
	"facetrack/internal/stage/links"
	"facetrack/internal/telemetry"
)

// failure is a step on the way to device memory that fails in one process, and what is heard of it.
type failure struct {
	step string
	why  []string // words of the reason that the link gives for its transport
	sync string   // cuda.sync of the rig; events when empty
	late bool     // while frames flow; networks run on the CPU then, which else would be the first to meet it
}

// failures of consumers. Two neighbours share a run: detect has one, landmarks the other.
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
	{step: "cuModuleLoadData=218", why: []string{"facetrack doctor", "version 520", "cuModuleLoadData", "(218)"}},
	{step: "cuLaunchKernel=700", why: []string{"started again", "cuLaunchKernel", "(700)"}},
	{step: "cuStreamCreate=2", why: []string{"no memory left", "cuStreamCreate", "(2)"}},
	{step: "cuMemHostAlloc=2", why: []string{"page-locked", "memlock", "cuMemHostAlloc", "(2)"}},
	{step: "cuStreamWaitValue64=801", why: []string{"no 64-bit stream memory operations", "cuda.sync", "(801)"}, sync: "memops"},
	{step: "cuStreamWriteValue64=801", why: []string{"no 64-bit stream memory operations", "cuda.sync", "(801)"}, sync: "memops"},
	// When frames flow already; the frame that meets it comes over the next transport, too.
	{step: "cuMemcpyDtoHAsync=700@20", why: []string{"broke on this ring", "cuMemcpyDtoHAsync", "(700)"}, late: true},
	{step: "cuStreamSynchronize=719@20", why: []string{"broke on this ring", "cuStreamSynchronize", "(719)"}, late: true},
}

// A consumer that cannot read device memory, for whatever reason, or cannot any more, gets every frame in another way
// and says why.
func TestFailingAttach(t *testing.T) {
	for pair := range slices.Chunk(failures, 2) {
		detect, landmarks := pair[0], pair[1]
		if detect.sync != landmarks.sync || detect.late != landmarks.late {
			t.Fatalf("%s and %s want other rigs and cannot share a run", detect.step, landmarks.step)
		}
		t.Run(detect.step+","+landmarks.step, func(t *testing.T) {
			t.Parallel()
			undisturbed(t, func() (disturbed string) {
				r := prepare(t).withGPU()
				r.env = append(r.env, fault.Variable+"_DETECT="+detect.step, fault.Variable+"_LANDMARKS="+landmarks.step)
				config := "cuda: {sync: " + cmp.Or(detect.sync, "events") + "}\n"
				if detect.late {
					config += "infer: {backend: cpu}\n"
				}
				r.flowAtFullSpeed(config)
				return checkNothingLost(t, r.goesOnInHostMemory(map[string]failure{stage.Detect: detect, stage.Landmarks: landmarks}))
			})
		})
	}
}

// Capture that cannot keep frames on the GPU, or cannot any more, delivers every frame from host memory and says why.
func TestFailingGPUOfCapture(t *testing.T) {
	for _, f := range []failure{
		{step: "cuInit=100", why: []string{"cuInit", "(100)"}},
		{step: "cuDevicePrimaryCtxRetain=2", why: []string{"cuDevicePrimaryCtxRetain", "(2)"}},
		{step: "cuMemHostRegister=2", why: []string{"cuMemHostRegister", "(2)"}},
		{step: "cuMemAlloc=2", why: []string{"cuMemAlloc", "(2)"}},
		{step: "cuStreamCreate=2", why: []string{"cuStreamCreate", "(2)"}},
		{step: "cuIpcGetMemHandle=801", why: []string{"cuIpcGetMemHandle", "(801)"}},
		{step: "cuMemcpyHtoDAsync=719@20", why: []string{"cuMemcpyHtoDAsync", "(719)"}},
	} {
		t.Run(f.step, func(t *testing.T) {
			t.Parallel()
			undisturbed(t, func() (disturbed string) {
				r := prepare(t).withGPU()
				r.env = append(r.env, fault.Variable+"_CAPTURE="+f.step)
				r.flowAtFullSpeed("")
				return checkNothingLost(t, r.goesOnInHostMemory(map[string]failure{stage.Capture: f, stage.Detect: f, stage.Landmarks: f}))
			})
		})
	}
}

// The GPU fails for every process at once while frames flow: capture goes on in host memory and says why. Consumers go on with
// it, or end and are started again; nothing but what was under way is lost, because the ring that it lay in can be read by nobody any
// more. That is what the death of another client of the same MPS server does, if a kernel of it was running.
func TestLostContexts(t *testing.T) {
	undisturbed(t, func() (disturbed string) {
		r := prepare(t).withGPU()
		lose := r.canLoseTheGPU()
		r.flowAtFullSpeed("")
		var detect, landmarks telemetry.Link
		r.eventually("frames flow", func() bool {
			all := r.services()
			detect, landmarks = linkOf(all[stage.Detect]), linkOf(all[stage.Landmarks])
			return detect.Transport != "" && landmarks.Transport != "" && all[stage.Tracker].Cameras["cam0"].Faces > 40
		})
		if detect.Transport != "cuda-ipc" || landmarks.Transport != "cuda-ipc" {
			return fmt.Sprintf("detect reads by %s (%s), landmarks by %s (%s)", detect.Transport, detect.Reason, landmarks.Transport, landmarks.Reason)
		}
		lose()
		why := failure{step: "lost context", why: []string{"capture's GPU failed", "(700)", "start capture again"}}
		s := r.goesOnInHostMemory(map[string]failure{stage.Capture: why, stage.Detect: why, stage.Landmarks: why})
		for _, name := range []string{stage.Capture, stage.Tracker, stage.LSLOut} {
			if s.Restarts[name] > 0 {
				t.Errorf("%s was started again", name)
			}
		}
		lost := uint64(0)
		for dropped, n := range s.Cameras["cam0"].Dropped {
			_, reason, _ := strings.Cut(dropped, ":")
			if !slices.Contains(late, reason) && reason != links.ReasonGPU {
				t.Errorf("%d frames were dropped: %s", n, dropped)
			}
			lost += n
		}
		if lost > mostUnderWay && s.Restarts[stage.Detect]+s.Restarts[stage.Landmarks] == 0 {
			return fmt.Sprintf("dropped %v", s.Cameras["cam0"].Dropped)
		}
		return ""
	})
}

// mostUnderWay is how many frames of a camera that waits for the tracker are on their way at once.
const mostUnderWay = 8

// flowAtFullSpeed starts a rig that loses no frame, however slow the machine.
func (r *rig) flowAtFullSpeed(config string) {
	r.t.Helper()
	r.up("--config", r.config(config), "--source", "synthetic:faces=1,size=320x240,fps=30", "--pace", "max", "--no-lsl")
}

// goesOnInHostMemory waits until frames come from host memory and checks that each stage says why, to people and to
// programs. It ends the rig.
func (r *rig) goesOnInHostMemory(stages map[string]failure) app.Summary {
	r.t.Helper()
	var since uint64
	r.eventually("frames flow from host memory", func() bool {
		all := r.services()
		faces := all[stage.Tracker].Cameras["cam0"].Faces
		for _, name := range []string{stage.Detect, stage.Landmarks} {
			if linkOf(all[name]).Transport != "shm" {
				since = faces
				return false
			}
		}
		return faces > since+40
	})
	var silent error
	defer func() {
		if silent != nil {
			r.t.Error(silent)
		}
	}()
	for from, ask := range map[string]func() map[string]telemetry.Stats{"facetrack status": r.status, "the NATS service": r.services} {
		r.eventually("every stage says why", func() bool { // one that stood still may just be attaching anew
			silent = nil
			all := ask()
			for name, f := range stages {
				if err := f.told(all[name].Cameras["cam0"]); err != nil {
					silent = fmt.Errorf("%s, %s of %s: %w", f.step, from, name, err)
				}
			}
			return silent == nil
		})
	}
	r.interrupt()
	return r.mustEnd()
}

// told checks what capture says of its ring, or a consumer of its link.
func (f failure) told(c telemetry.CameraStats) error {
	if ring, captures := c.Ring.(map[string]any); captures {
		why, _ := ring["no_gpu"].(string)
		return f.in(why)
	}
	if c.Link == nil {
		return fmt.Errorf("no link")
	}
	for _, a := range c.Link.Attempts {
		if a.Transport == "cuda-ipc" && a.Reason != "" {
			return f.in(c.Link.Reason)
		}
	}
	return fmt.Errorf("no attempt at cuda-ipc: %+v", c.Link.Attempts)
}

func (f failure) in(reason string) error {
	for _, word := range f.why {
		if !strings.Contains(reason, word) {
			return fmt.Errorf("the reason does not say %q: %q", word, reason)
		}
	}
	return nil
}
