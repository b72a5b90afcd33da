package ipc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"facetrack/gpuring"
	"facetrack/internal/cuda"
)

func driverError(call string, code cuda.Code) error {
	return fmt.Errorf("%w: %w", gpuring.ErrDevice, &cuda.Error{Call: call, Code: code, Name: "CUDA_ERROR_NAME"})
}

var (
	ownUID  = os.Geteuid()
	oneGPU  = []cuda.Device{{UUID: cuda.UUID{15: 1}}, {UUID: cuda.UUID{15: 2}}}
	visible = oneGPU[0].UUID.String() + ", " + oneGPU[1].UUID.String()
)

// causeCases has a failure for each cause, with what its sentence must say: what is wrong, and what to do.
var causeCases = []struct {
	cause string
	fail  failure
	says  []string
}{
	{"not built", failure{err: cuda.ErrNotBuilt}, []string{"without CUDA", "make build"}},
	{"no driver", failure{err: cuda.ErrNoDriver}, []string{"no NVIDIA driver", "--gpus all"}},
	{"no device", failure{err: driverError("cuInit", cuda.NoDevice)}, []string{"no GPU here", "CUDA_VISIBLE_DEVICES", "[cuInit: CUDA_ERROR_NAME (100)]"}},
	{"sick GPU", failure{err: notFound(errInvisible, driverError("cuDeviceGetName", cuda.Unknown))}, []string{"cannot describe", "NVRM", "(999)"}},
	{"GPU not visible", failure{err: notFound(errInvisible, errors.Join(cuda.ErrNoSuchDevice, driverError("cuDeviceGetName", cuda.Unknown)))},
		[]string{"not visible here", "(999)"}},
	{"GPU not visible", failure{err: errInvisible, capture: gpuring.DeviceMemory{GPU: "GPU-x"}, here: oneGPU},
		[]string{"capture's GPU GPU-x is not visible here", visible, "CUDA_VISIBLE_DEVICES"}},
	{"GPU not visible", failure{err: errInvisible}, []string{"none is"}},
	{"configured GPU", failure{err: fmt.Errorf("%w: %w", errNotConfigured, cuda.ErrNoSuchDevice), wanted: "7", here: oneGPU}, []string{`"7" is not here`, visible, "cuda.gpu"}},
	{"peer access", failure{err: errNoPeer, capture: gpuring.DeviceMemory{GPU: "GPU-x"}, device: oneGPU[1]},
		[]string{oneGPU[1].UUID.String() + " has no peer access to capture's GPU GPU-x", "cuda.gpu"}},
	{"peer access", failure{err: driverError(openMemory, cuda.PeerUnsupported)}, []string{"peer access", "(217)"}},
	{"MIG", failure{err: errMIG, device: cuda.Device{MIG: true}}, []string{"MIG-00000000-0000-0000-0000-000000000000 is a MIG instance", "--threads"}},
	{"integrated", failure{err: errIntegrated}, []string{"Jetson", "--threads"}},
	{"exclusive GPU", failure{err: driverError(retain, cuda.InvalidDevice), device: cuda.Device{ComputeMode: 3}}, []string{"only one process", "nvidia-smi -c 0", "mps"}},
	{"same process id", failure{err: driverError(openMemory, cuda.InvalidContext), samePID: true},
		[]string{fmt.Sprintf("process id %d", os.Getpid()), "PID namespaces", "--pid", "(201)"}},
	{"same process id", failure{err: fmt.Errorf("%w: same id", gpuring.ErrDevice), samePID: true}, []string{"PID namespaces"}},
	{"events not shared", failure{err: driverError(openEvent, cuda.MapFailed), sync: gpuring.SyncEvents, device: cuda.Device{MemOps64: true}},
		[]string{"IPC namespaces", "--ipc=host, or set cuda.sync to auto", "(205)"}},
	{"events not shared", failure{err: driverError(openEvent, cuda.MapFailed), device: cuda.Device{MemOps64: true}}, []string{"IPC namespaces", "--ipc=host [", "(205)"}},
	{"events not exported", failure{err: gpuring.ErrDevice, sync: gpuring.SyncEvents, device: cuda.Device{MemOps64: true}, capture: gpuring.DeviceMemory{EventsError: "not supported"}},
		[]string{"not supported", "set cuda.sync to auto"}},
	{"events not exported", failure{err: gpuring.ErrDevice, capture: gpuring.DeviceMemory{EventsError: "not supported"}},
		[]string{"not supported", "use shm", "no 64-bit stream memory operations"}},
	{"no memory operations", failure{err: driverError("cuStreamWaitValue64", cuda.NotSupported), sync: gpuring.SyncMemOps}, []string{"memory operations", "cuda.sync to auto", "(801)"}},
	{"no memory operations", failure{err: gpuring.ErrDevice, sync: gpuring.SyncMemOps, samePID: true}, []string{"memory operations"}},
	{"WSL2", failure{err: fmt.Errorf("proof: %w", gpuring.ErrZeros), wsl: true}, []string{"zeros", "WSL2", "Linux itself"}},
	{"zeros", failure{err: fmt.Errorf("proof: %w", gpuring.ErrZeros)}, []string{"zeros", "driver"}},
	{"stale canary", failure{err: fmt.Errorf("proof: %w", gpuring.ErrCanary)}, []string{"just written", "start capture again"}},
	{"permission", failure{err: driverError(openMemory, cuda.NotPermitted), uid: ownUID + 1}, []string{"permission denied", fmt.Sprintf("uid %d, this is %d", ownUID+1, ownUID), "(800)"}},
	{"permission", failure{err: fmt.Errorf("%w: %w", gpuring.ErrNotShared, fs.ErrPermission), uid: ownUID}, []string{"permission denied"}},
	{"permission", failure{err: driverError(openMemory, cuda.InvalidValue), uid: ownUID + 1}, []string{"permission denied"}},
	{"other host", failure{err: gpuring.ErrNotShared, host: "b", uid: ownUID}, []string{"another host, b", "--ipc=host"}},
	{"not shared", failure{err: fmt.Errorf("%w: %w", gpuring.ErrNotShared, fs.ErrNotExist), uid: ownUID}, []string{"/dev/shm", "--ipc=host"}},
	{"another ring", failure{err: fmt.Errorf("%w: odd size", gpuring.ErrNotShared), uid: ownUID}, []string{"odd size", "--ipc=host", "same version"}},
	{"out of memory", failure{err: driverError("cuMemAlloc", cuda.OutOfMemory), device: oneGPU[0]}, []string{"no memory left", "nvidia-smi", "ring.slots"}},
	{"page-locked memory", failure{err: driverError("cuMemHostAlloc", cuda.OutOfMemory), device: oneGPU[0]}, []string{"page-locked", "ulimit -l", "(2)"}},
	{"context lost", failure{err: driverError("cuStreamSynchronize", cuda.IllegalAddress)}, []string{"started again", "MPS", "(700)"}},
	{"no proof", failure{err: fmt.Errorf("%w: %w", errNoProof, errRefused)}, []string{"proof", "same version", "log"}},
	{"reader table full", failure{err: gpuring.ErrReadersFull}, []string{"readers", "end some"}},
	{"renewed", failure{err: fmt.Errorf("%w: %w", gpuring.ErrClosed, errRenewed)}, []string{"renewed while attaching", "log"}},
	{"renewed", failure{err: fmt.Errorf("%w: %w: %w: %w", gpuring.ErrClosed, errRenewed, gpuring.ErrNotShared, fs.ErrNotExist)}, []string{"renewed while attaching"}},
	{"", failure{err: driverError(openMemory, cuda.NotSupported), sync: gpuring.SyncMemOps}, []string{"facetrack doctor", "(801)"}},
	{"not shared", failure{err: fmt.Errorf("%w: %w", gpuring.ErrNotShared, fs.ErrNotExist), uid: ownUID, sync: gpuring.SyncMemOps}, []string{"/dev/shm"}},
	{"", failure{err: driverError(openMemory, cuda.InvalidContext)}, []string{"facetrack doctor", "cuIpcOpenMemHandle", "(201)"}},
	{"", failure{err: errors.Join(errors.New("odd"), errors.New("odder"))}, []string{"facetrack doctor", "odd; odder"}},
}

func TestEveryCauseHasItsSentence(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range causeCases {
		seen[c.cause] = true
		first := ""
		for _, row := range causes {
			if row.is(&c.fail) {
				first = row.name
				break
			}
		}
		got := c.fail.reason()
		if first != c.cause {
			t.Errorf("%v is told as %q, want %q: %s", c.fail.err, first, c.cause, got)
		}
		for _, want := range c.says {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is missing in: %s", c.cause, want, got)
			}
		}
		if strings.Contains(got, "\n") || strings.Contains(got, "%!") {
			t.Errorf("%s: no sentence: %q", c.cause, got)
		}
	}
	for _, row := range causes {
		if !seen[row.name] {
			t.Errorf("cause %q has no test", row.name)
		}
	}
}

func TestExplainedKeepsItsError(t *testing.T) {
	err := error(&explained{text: "words", err: gpuring.ErrZeros})
	if err.Error() != "words" || !errors.Is(err, gpuring.ErrZeros) {
		t.Error(err)
	}
}
