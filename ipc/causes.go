package ipc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"facetrack/gpuring"
	"facetrack/internal/cuda"
)

// What the cuda rung finds out by itself; the rest is the driver's and the ring's.
var (
	errOff           = errors.New("switched off by this process's configuration: set cuda.gpu to auto")
	errNoMemory      = errors.New("capture describes no device memory: use the same version of facetrack for both")
	errInvisible     = errors.New("capture's GPU is not here")
	errNotConfigured = errors.New("the configured GPU is not here")
	errSick          = errors.New("the GPU is sick")
	errNoPeer        = errors.New("no peer access")
	errMIG           = errors.New("MIG instance")
	errIntegrated    = errors.New("no memory IPC")
	errNoProof       = errors.New("no proof")
	errRenewed       = errors.New("capture's ring was renewed while attaching")
)

// Driver calls that causes are told by.
const (
	openMemory = "cuIpcOpenMemHandle"
	openEvent  = "cuIpcOpenEventHandle"
	retain     = "cuDevicePrimaryCtxRetain"
	writeWord  = "cuStreamWriteValue64"
	waitWord   = "cuStreamWaitValue64"
	lockMemory = "cuMemHostAlloc"
)

// cause is a reason why device memory cannot be read: how it shows, and what to tell a person.
type cause struct {
	name string
	is   func(f *failure) bool
	say  func(f *failure) string // cause and cure, one sentence
}

// causes are tried from the first.
var causes = []cause{
	// First: memory whose owner has gone fails in many ways, none of which is the reason.
	{"renewed", is(errRenewed), text("capture's ring was renewed while attaching: look at capture's log if this comes back")},
	{"not built", is(cuda.ErrNotBuilt), text("this program was built without CUDA: build it with make build")},
	{"no driver", is(cuda.ErrNoDriver), text("no NVIDIA driver here (libcuda.so.1 is missing): install it, or start the container with --gpus all")},
	{"no device", is(cuda.NoDevice), text("the NVIDIA driver shows no GPU here: look at nvidia-smi, and whether CUDA_VISIBLE_DEVICES hides all of them")},
	{"sick GPU", is(errSick), text("the driver cannot describe the GPU that is wanted: look at dmesg for lines with NVRM, and restart the machine if it stays")},
	{"GPU not visible", is(errInvisible), func(f *failure) string {
		return fmt.Sprintf("capture's GPU %s is not visible here, but %s: add it to CUDA_VISIBLE_DEVICES, or give it to this container", f.capture.GPU, f.visible())
	}},
	{"configured GPU", is(errNotConfigured), func(f *failure) string {
		return fmt.Sprintf("the configured GPU %q is not here, but %s: correct cuda.gpu", f.wanted, f.visible())
	}},
	{"peer access", either(is(errNoPeer), is(cuda.PeerUnsupported)), func(f *failure) string {
		return fmt.Sprintf("the GPU %s has no peer access to capture's GPU %s: set cuda.gpu to auto, or to a GPU with a direct link to it", f.device.ID(), f.capture.GPU)
	}},
	{"MIG", is(errMIG), func(f *failure) string {
		return fmt.Sprintf("%s is a MIG instance, and those cannot share memory between processes: switch MIG off (nvidia-smi -mig 0), or use facetrack up --threads", f.device.ID())
	}},
	{"integrated", is(errIntegrated), text("this GPU shares its memory with the CPU (a Jetson before Thor) and cannot share it between processes: use facetrack up --threads")},
	{"exclusive GPU", func(f *failure) bool { return f.device.ComputeMode != 0 && f.driver().Call == retain }, func(f *failure) string {
		return fmt.Sprintf("the GPU %s lets only one process use it: set its compute mode to default (nvidia-smi -c 0), or start nvidia-cuda-mps-control", f.device.ID())
	}},
	{"no memory operations", func(f *failure) bool {
		if f.sync != gpuring.SyncMemOps || !errors.Is(f.err, gpuring.ErrDevice) {
			return false
		}
		return !f.device.MemOps64 && f.driver().Call == "" || f.at(writeWord, cuda.NotSupported) || f.at(waitWord, cuda.NotSupported)
	}, func(f *failure) string {
		return fmt.Sprintf("the GPU %s has no 64-bit stream memory operations: set cuda.sync to auto", f.device.ID())
	}},
	{"same process id", func(f *failure) bool {
		// gpuring does not even try: then there is no driver error.
		return f.samePID && (f.at(openMemory, cuda.InvalidContext) || errors.Is(f.err, gpuring.ErrDevice) && f.driver().Call == "")
	}, func(_ *failure) string {
		return fmt.Sprintf("capture and this process both have the process id %d, in different PID namespaces, and CUDA takes them for one: start the containers with a shared PID namespace (--pid), or one of them anew", os.Getpid())
	}},
	{"events not shared", func(f *failure) bool { return f.at(openEvent, cuda.MapFailed) }, func(f *failure) string {
		cure := ""
		if f.eventsOnly() {
			cure = ", or set cuda.sync to auto"
		}
		return "capture's events cannot be opened here because the containers have separate IPC namespaces: start them with --ipc=host" + cure
	}},
	{"WSL2", func(f *failure) bool { return f.wsl && errors.Is(f.err, gpuring.ErrZeros) }, text("capture's GPU memory reads as zeros here, as it does in WSL2, which cannot share GPU memory: run on Linux itself, or use facetrack up --threads")},
	{"zeros", is(gpuring.ErrZeros), text("capture's GPU memory reads as zeros here, so that this driver does not really share it: update the NVIDIA driver, or use facetrack up --threads")},
	{"stale canary", is(gpuring.ErrCanary), text("the GPU does not show here what capture has just written: start capture again, and update the NVIDIA driver if this comes back")},
	{"permission", either(is(cuda.NotPermitted), is(fs.ErrPermission), func(f *failure) bool { return f.uid != os.Geteuid() && f.at(openMemory, 0) }), func(f *failure) string {
		return fmt.Sprintf("permission denied: this process may not open the memory of capture (uid %d, this is %d): run both as one user, and containers with the same rights", f.uid, os.Geteuid())
	}},
	{"other host", func(f *failure) bool { return f.host != "" && errors.Is(f.err, gpuring.ErrNotShared) }, func(f *failure) string {
		return fmt.Sprintf("capture runs on another host, %.64s, or in a container without a shared /dev/shm: start both on one host, containers with --ipc=host", f.host)
	}},
	{"not shared", func(f *failure) bool {
		return errors.Is(f.err, gpuring.ErrNotShared) && errors.Is(f.err, fs.ErrNotExist)
	}, text("capture's /dev/shm is not shared with this process: start the containers with --ipc=host")},
	{"another ring", is(gpuring.ErrNotShared), func(f *failure) string {
		return fmt.Sprintf("what is found here is not capture's ring (%s): start the containers with --ipc=host, and use the same version of facetrack for both", oneLine(f.err))
	}},
	{"page-locked memory", func(f *failure) bool { return f.at(lockMemory, cuda.OutOfMemory) }, text(
		"no host memory can be page-locked here: raise the limits of locked memory (ulimit -l unlimited, docker run --ulimit memlock=-1) and of the container's memory")},
	{"out of memory", is(cuda.OutOfMemory), func(f *failure) string {
		return fmt.Sprintf("the GPU %s has no memory left: end other programs on it (nvidia-smi lists them), or lower ring.slots", f.device.ID())
	}},
	{"events not exported", func(f *failure) bool {
		return f.capture.EventsError != "" && (f.sync == gpuring.SyncEvents || !f.device.MemOps64)
	}, func(f *failure) string {
		cure := "use shm, or facetrack up --threads: the GPU has no 64-bit stream memory operations to wait with instead"
		if f.eventsOnly() {
			cure = "set cuda.sync to auto"
		}
		return fmt.Sprintf("capture's GPU cannot share events (%.200s): %s", f.capture.EventsError, cure)
	}},
	{"context lost", func(f *failure) bool { e := f.driver(); return e.Sticky() }, text("the GPU has failed in this process, which cannot use it any more until it is started again; another client of the same MPS server that was killed does that, too")},
	{"no proof", is(errNoProof), func(f *failure) string {
		return fmt.Sprintf("capture did not write the proof that was asked for (%s): use the same version of facetrack for both, and look at capture's log", oneLine(f.err))
	}},
	{"reader table full", is(gpuring.ErrReadersFull), text("the ring has as many readers as it can: end some consumers")},
}

func is(target error) func(*failure) bool {
	return func(f *failure) bool { return errors.Is(f.err, target) }
}

func text(s string) func(*failure) string { return func(*failure) string { return s } }

func either(tests ...func(*failure) bool) func(*failure) bool {
	return func(f *failure) bool {
		for _, test := range tests {
			if test(f) {
				return true
			}
		}
		return false
	}
}
