//go:build cuda

package ipc_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"facetrack/gpuring"
	"facetrack/internal/cuda/cudatest"
	"facetrack/internal/fault"
	"facetrack/ipc"
)

// hostOf leases f and has its pixels in host memory, which must be those that capture wrote.
func hostOf(t *testing.T, l *ipc.Link, f ipc.Frame) ipc.Lease {
	t.Helper()
	got, err := l.Lease(t.Context(), f)
	if err != nil {
		t.Fatalf("frame %d: %v", f.Seq, err)
	}
	have, err := got.Host()
	if err != nil || !bytes.Equal(have, pixels(f.Seq)) {
		t.Fatalf("frame %d has other pixels, %v", f.Seq, err)
	}
	return got
}

func TestDeviceMemoryOfAnotherProcess(t *testing.T) {
	for _, sync := range []gpuring.Sync{"", gpuring.SyncAuto, gpuring.SyncEvents, gpuring.SyncMemOps} {
		t.Run("sync="+string(sync), func(t *testing.T) {
			r := startGPURig(t)
			l := newLink(t, r.nc, ipc.LinkOptions{Sync: sync, GPU: "auto"})
			for range 2 * geometry.Slots {
				got := hostOf(t, l, r.order("frame"))
				if v := got.View(); v.Device == 0 || v.Fence == nil || v.Host != nil {
					t.Errorf("view: device %x, fence %v, %d bytes of host memory", v.Device, v.Fence, len(v.Host))
				}
				release(t, got)
			}
			s := l.Status()
			if s.Transport != ipc.CUDAIPC || len(s.Attempts) != 0 || s.Reattaches != 0 || !strings.HasPrefix(s.GPU, "GPU-") ||
				!strings.Contains(s.Reason, "proved on "+s.GPU) || s.Sync == "" || len(sync) > len("auto") && s.Sync != string(sync) {
				t.Errorf("status %+v", s)
			}
		})
	}
}

func TestDeviceMemoryOfThisProcess(t *testing.T) {
	gpu := cudatest.Use(t)
	nc := connect(t, startNATS(t, small).ClientURL())
	c, err := newGPUCapture(nc, t.TempDir(), gpu)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	l := newLink(t, nc, ipc.LinkOptions{})
	for range 2 * geometry.Slots {
		f, err := c.publish()
		if err != nil {
			t.Fatal(err)
		}
		got := hostOf(t, l, f)
		if v := got.View(); v.Device == 0 || v.Host == nil {
			t.Errorf("view: device %x, fence %v, %d bytes of host memory", v.Device, v.Fence, len(v.Host))
		}
		release(t, got)
	}
	if s := l.Status(); s.Transport != ipc.CUDA || s.GPU != gpu.Device().UUID.String() || len(s.Attempts) != 0 {
		t.Errorf("status %+v", s)
	}
}

// failures are steps of attaching, each made to fail, and what the link must say of it.
var failures = []struct {
	faults string
	sync   gpuring.Sync
	says   string
}{
	{"cuInit=100", "", "no GPU here"},
	{"uuid=other", "", "is not visible here, but GPU-"},
	{"peer=none", "", "no peer access"},
	{"mig=on", "", "MIG"},
	{"integrated=yes", "", "Jetson"},
	{"pid=same", "", "PID namespace"},
	{"cuIpcOpenMemHandle=201", "", "cuIpcOpenMemHandle"},
	{"cuIpcOpenMemHandle=1", "", "facetrack doctor"},
	{"cuIpcOpenMemHandle=2", "", "no memory left"},
	{"permission=denied", "", "permission denied"},
	{"cuIpcOpenMemHandle=800", "", "permission denied"},
	{"cuIpcOpenEventHandle=205", gpuring.SyncEvents, "--ipc=host"},
	{"cuStreamWaitValue64=801", gpuring.SyncMemOps, "cuda.sync"},
	{"cuStreamCreate=2", "", "no memory left"},
	{"cuModuleLoadData=218", "", "facetrack doctor"},
	{"cuLaunchKernel=700", "", "started again"},
	{"canary=zeros", "", "zeros"},
	{"canary=stale", "", "just written"},
	{"generation=old", "", "renewed"},
}

// Whatever fails, every frame comes with the right pixels over the next transport, and the link says why.
func TestEveryStepThatFails(t *testing.T) {
	r := startGPURig(t)
	for _, c := range failures {
		t.Run(c.faults, func(t *testing.T) {
			fault.Plan(c.faults)
			defer fault.Plan("")
			l := newLink(t, r.nc, ipc.LinkOptions{Sync: c.sync})
			for range 3 {
				release(t, hostOf(t, l, r.order("frame")))
			}
			s := l.Status()
			if s.Transport != ipc.SHM || s.Reattaches != 0 || len(s.Attempts) != 1 || s.Attempts[0].Transport != ipc.CUDAIPC ||
				!strings.Contains(s.Attempts[0].Reason, c.says) || s.Sync != "" || s.GPU != "" {
				t.Errorf("status %+v", s)
			}
		})
	}
	l := newLink(t, r.nc, ipc.LinkOptions{}) // nothing of it stays
	release(t, hostOf(t, l, r.order("frame")))
	if s := l.Status(); s.Transport != ipc.CUDAIPC {
		t.Errorf("afterwards: %+v", s)
	}
}

// Without a shared folder, pixels in device memory cannot be leased either: they are copied.
func TestDeviceMemoryWithoutSharedFolder(t *testing.T) {
	r := startGPURig(t)
	l := newLink(t, r.nc, ipc.LinkOptions{Dir: t.TempDir()})
	release(t, hostOf(t, l, r.order("frame")))
	s := l.Status()
	if s.Transport != ipc.Copy || len(s.Attempts) != 2 || !strings.Contains(s.Attempts[0].Reason, "--ipc=host") {
		t.Errorf("status %+v", s)
	}
}

func TestConfiguredGPU(t *testing.T) {
	r := startGPURig(t)
	f := r.order("frame")
	for gpu, want := range map[string]string{
		"0": "", "99": `the configured GPU "99" is not here`, "GPU-no": `the configured GPU "GPU-no" is not here`, "off": "cuda.gpu",
	} {
		l := newLink(t, r.nc, ipc.LinkOptions{GPU: gpu})
		release(t, hostOf(t, l, f))
		if s := l.Status(); !strings.Contains(s.Reason, want) || (s.Transport == ipc.CUDAIPC) != (want == "") {
			t.Errorf("%s: %+v", gpu, s)
		}
	}
}

func TestDeviceLinkFollowsNewRing(t *testing.T) {
	r := startGPURig(t)
	l := newLink(t, r.nc, ipc.LinkOptions{})
	release(t, hostOf(t, l, r.order("frame")))
	for i := range 3 {
		release(t, hostOf(t, l, r.order("renew")))
		if s := l.Status(); s.Transport != ipc.CUDAIPC || s.Reattaches != i+1 || len(s.Attempts) != 0 {
			t.Errorf("status %+v", s)
		}
	}
}

// A frame whose download fails comes over shared memory, and all frames after it.
func TestDownloadThatFails(t *testing.T) {
	for _, step := range []string{"cuMemcpyDtoHAsync=999", "cuStreamSynchronize=999", "cuMemHostAlloc=2"} {
		t.Run(step, func(t *testing.T) {
			r := startGPURig(t)
			l := newLink(t, r.nc, ipc.LinkOptions{})
			f := r.order("frame")
			first, err := l.Lease(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			fault.Plan(step)
			if _, err := first.Host(); !errors.Is(err, gpuring.ErrDevice) {
				t.Errorf("download: %v", err)
			}
			second := hostOf(t, l, f)
			fault.Plan("")
			_ = first.Release() // whatever it says, nothing was read
			release(t, second)
			release(t, hostOf(t, l, r.order("frame")))
			if s := l.Status(); s.Transport != ipc.SHM || s.Reattaches != 1 || !strings.Contains(s.Reason, "cuda-ipc: broke on this ring: ") {
				t.Errorf("status %+v", s)
			}
			release(t, hostOf(t, l, r.order("renew"))) // a new ring is a new chance
			if s := l.Status(); s.Transport != ipc.CUDAIPC {
				t.Errorf("on a new ring: %+v", s)
			}
		})
	}
}

// Several workers download frames of one camera at once, each into memory of its own.
func TestDownloadsSideBySide(t *testing.T) {
	r := startGPURig(t)
	l := newLink(t, r.nc, ipc.LinkOptions{})
	a, b := r.order("frame"), r.order("frame")
	first, second := hostOf(t, l, a), hostOf(t, l, b)
	if have, err := first.Host(); err != nil || !bytes.Equal(have, pixels(a.Seq)) {
		t.Errorf("the first frame after the second: %v", err)
	}
	release(t, first)
	release(t, second)
}

func TestDeviceMemoryAfterRelease(t *testing.T) {
	r := startGPURig(t)
	hostAfterRelease(t, newLink(t, r.nc, ipc.LinkOptions{}), ipc.CUDAIPC, r.order("frame"))
}

// A link that is closed downloads nothing any more, which is no failure of the GPU.
func TestDownloadAfterClose(t *testing.T) {
	r := startGPURig(t)
	l := newLink(t, r.nc, ipc.LinkOptions{})
	a, b := r.order("frame"), r.order("frame")
	had := hostOf(t, l, a)
	late, err := l.Lease(t.Context(), b)
	if err := errors.Join(err, l.Close()); err != nil {
		t.Fatal(err)
	}
	if have, err := had.Host(); err != nil || !bytes.Equal(have, pixels(a.Seq)) {
		t.Errorf("downloaded before: %v", err)
	}
	if _, err := late.Host(); !errors.Is(err, gpuring.ErrClosed) || errors.Is(err, gpuring.ErrDevice) {
		t.Errorf("not downloaded before: %v", err)
	}
	release(t, had)
	release(t, late)
}
