//go:build cuda && !gpu

package doctor

import (
	"os"
	"strings"
	"testing"

	"facetrack/internal/cuda"
	"facetrack/internal/cuda/cudatest"
	"facetrack/internal/nvml"
)

// driver puts the fake driver in place of the real one.
func driver(t *testing.T) {
	t.Helper()
	if err := os.Setenv(cuda.LibraryVariable, cudatest.Library(t)); err != nil {
		t.Fatal(err)
	}
}

func TestHealthyGPU(t *testing.T) {
	r := examine(t, "", nil)
	for _, c := range r.Checks {
		if c.Status != OK && c.Status != Skipped || c.Cure != "" {
			t.Errorf("%+v", c)
		}
	}
	if c := r.check(t, "page-locked memory"); c.Status != OK || !strings.Contains(c.Seen, "page-locked 16 MiB of /dev/shm") {
		t.Errorf("%+v", c)
	}
	for name, sync := range map[string]string{TripEvents: "events", TripMemOps: "memops", TripShm: ""} {
		trip := r.RoundTrips[name]
		if !trip.OK || trip.Sync != sync || trip.Frames != tripFrames || trip.P50US <= 0 || trip.AttachMS <= 0 {
			t.Errorf("%s: %+v", name, trip)
		}
	}
	if r.Transport != "cuda-ipc" || !strings.Contains(r.Reason, "by events") {
		t.Errorf("%s: %s", r.Transport, r.Reason)
	}
}

// Each thing that can be wrong shows in its check, with its cure, and nothing worse follows from it than it has to.
func TestFaults(t *testing.T) {
	const (
		gpuRing = "ring on the GPU"
		events  = "round trip by cuda-ipc, events"
		memOps  = "round trip by cuda-ipc, memops"
		trips   = "round trip by cuda-ipc, " // both
	)
	for _, c := range []struct {
		faults, sync, check string
		status              Status
		cure, transport     string
	}{
		{"cuInit=803", "", "driver", Fail, "same version", "shm"},
		{"cuInit=100", "", "driver", Warn, "GPU", "shm"},
		{"cuDeviceGetCount=999", "", "GPUs", Fail, "NVRM", "shm"},
		{"mig=1", "", "MIG", Fail, "-mig 0", "shm"},
		{"integrated=1", "", "memory of its own", Warn, "--threads", "shm"},
		{"cuDevicePrimaryCtxRetain=46", "", "GPU context", Fail, "nvidia-smi -c 0", "shm"},
		{"cuMemGetInfo=805", "", "GPU context", Fail, "nvidia-cuda-mps-control", "cuda-ipc"},
		{"cuMemHostRegister=2", "", "page-locked memory", Fail, "memlock", "shm"},
		{"cuMemHostRegister=2", "", gpuRing, Fail, "memlock", "shm"},
		{"cuMemAlloc=2", "", gpuRing, Fail, "nvidia-smi", "shm"},
		{"cuIpcGetMemHandle=801", "", gpuRing, Fail, "--threads", "shm"},
		{"cuIpcGetEventHandle=801", "", gpuRing, OK, "", "cuda-ipc"},
		{"cuIpcGetEventHandle=801", "events", events, Fail, "driver, or set cuda.sync to auto", "shm"},
		{"cuIpcGetEventHandle=801", "", events, Warn, "driver; memops are used", "cuda-ipc"},
		{"cuIpcOpenEventHandle=205", "", events, Warn, "--ipc=host; memops are used", "cuda-ipc"},
		{"cuIpcOpenEventHandle=205", "memops", events, Warn, "--ipc=host; memops are used", "cuda-ipc"},
		{"cuIpcOpenEventHandle=205", "events", events, Fail, "--ipc=host, or set cuda.sync to auto", "shm"},
		{"cuStreamWaitValue64=801", "", memOps, Warn, "events are used", "cuda-ipc"},
		{"cuStreamWaitValue64=801", "memops", memOps, Fail, "driver, or set cuda.sync to auto", "shm"},
		{"cuIpcOpenMemHandle=201", "", trips, Fail, "--pid=host", "shm"},
		{"cuIpcOpenMemHandle=400", "", trips, Fail, "driver", "shm"},
		{"pid=1", "", trips, Fail, "--pid=host", "shm"},
		{"permission=1", "", trips, Fail, "one user", "shm"},
		{"uuid=other", "", trips, Fail, "CUDA_VISIBLE_DEVICES", "shm"},
		{"canary=zeros", "", trips, Fail, "WSL2", "shm"},
		{"canary=stale", "", trips, Fail, "other memory", "shm"},
		{"cuModuleLoadData=222", "", trips, Fail, "520", "shm"},
		{"cuMemcpyDtoHAsync=700", "", trips, Fail, "NVRM", "shm"},
	} {
		t.Run(c.faults+" "+c.sync+" "+c.check, func(t *testing.T) {
			r := examine(t, c.faults, func(o *Options) {
				if c.sync != "" {
					o.Config.CUDA.Sync = c.sync
				}
			})
			if r.Transport != c.transport || r.Failed() != (c.status == Fail) {
				var text strings.Builder
				_ = r.Print(&text)
				t.Errorf("transport %s, failed %v\n%s", r.Transport, r.Failed(), &text)
			}
			if !r.RoundTrips[TripShm].OK {
				t.Errorf("shm: %+v", r.RoundTrips[TripShm])
			}
			found := false
			for _, seen := range r.Checks {
				if c.sync == "" && strings.Contains(seen.Cure, "cuda.sync") {
					t.Errorf("cuda.sync is auto already: %+v", seen)
				}
				if strings.HasPrefix(seen.Name, c.check) {
					found = true
					expect(t, seen, c.status, "", c.cure)
				}
			}
			if !found {
				t.Errorf("no check %q", c.check)
			}
		})
	}
}

// GPUs of other kinds than the usual one.
func TestOtherGPUs(t *testing.T) {
	for _, c := range []struct {
		variable, value, check string
		status                 Status
		seen, cure, transport  string
	}{
		{"FAKE_CUDA_COMPUTE_MODE", "2", "GPUs", Fail, "prohibited", "nvidia-smi -c 0", "shm"},
		{"FAKE_CUDA_NO_MEMOPS", "1", "round trip by cuda-ipc, memops", Warn, "no 64-bit", "events are used", "cuda-ipc"},
		{"FAKE_CUDA_DEVICES", "3", "GPUs", OK, "; used: 0", "", "cuda-ipc"},
	} {
		t.Setenv(c.variable, c.value)
		r := examine(t, "", nil)
		expect(t, r.check(t, c.check), c.status, c.seen, c.cure)
		if r.Transport != c.transport || r.Failed() != (c.status == Fail) || !r.RoundTrips[TripShm].OK {
			t.Errorf("%s: %+v", c.variable, r)
		}
		_ = os.Unsetenv(c.variable)
	}
}

func TestChoiceOfGPU(t *testing.T) {
	c := examine(t, "", func(o *Options) { o.Config.CUDA.GPU = "7" }).check(t, "GPUs")
	expect(t, c, Fail, "configured: 7", "cuda.gpu")
	c = examine(t, "", func(o *Options) { o.Config.CUDA.GPU = "0" }).check(t, "GPUs")
	expect(t, c, OK, "0: ", "")
}

// A GPU that is sick is shown, with its error, and only who asks for that one goes without.
func TestSickGPU(t *testing.T) {
	const seen = "1: sick (CUDA device 1: cuDeviceGetUuid: CUDA_ERROR_UNKNOWN (999))"
	t.Setenv("FAKE_CUDA_DEVICES", "2")
	t.Setenv("FAKE_CUDA_SICK", "1")
	r := examine(t, "", nil)
	expect(t, r.check(t, "GPUs"), Warn, seen+"; used: 0", "GPU 1: look at dmesg for lines with NVRM")
	if r.Transport != "cuda-ipc" || r.Failed() {
		t.Errorf("%+v", r)
	}
	r = examine(t, "", func(o *Options) { o.Config.CUDA.GPU = "1" })
	expect(t, r.check(t, "GPUs"), Fail, seen+"; configured: 1", "NVRM")
	if r.Transport != "shm" || !strings.Contains(r.Reason, "sick") {
		t.Errorf("%s: %s", r.Transport, r.Reason)
	}
}

// What the driver says of a device, as far as the fake cannot be made to say it.
func TestDeviceChecks(t *testing.T) {
	t.Setenv(nvml.PipeVariable, t.TempDir())
	d := &doctor{found: true}
	d.device = cuda.Device{Major: 7, Minor: 5}
	expect(t, d.capability(), OK, "7.5", "")
	expect(t, d.computeMode(), OK, "default", "")
	expect(t, d.mps(), OK, "not running", "")
	expect(t, d.integrated(), OK, "yes", "")
	d.device = cuda.Device{Major: 7, Minor: 2, ComputeMode: 3, Integrated: true}
	expect(t, d.capability(), Fail, "7.2", "Turing")
	expect(t, d.computeMode(), Fail, "exclusive", "nvidia-cuda-mps-control")
	expect(t, d.integrated(), Warn, "Jetson", "--threads")
	d.device = cuda.Device{Major: 11, ComputeMode: 2, Integrated: true}
	expect(t, d.capability(), OK, "11.0", "")
	expect(t, d.computeMode(), Fail, "prohibited", "nvidia-smi -c 0")
	expect(t, d.integrated(), OK, "shares it", "")
}
