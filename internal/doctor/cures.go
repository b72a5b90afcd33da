package doctor

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"

	"facetrack/gpuring"
	"facetrack/internal/cuda"
)

const (
	reinstall = "make the driver's library and kernel module the same version: restart the machine after an update, and a container after one of its host"
	mpsCure   = "look at the log of nvidia-cuda-mps-control (/var/log/nvidia-mps), end it (echo quit | nvidia-cuda-mps-control), and start it anew or do without"
	noEvents  = "this GPU or system cannot share events: update the NVIDIA driver"
	oldDriver = "update the NVIDIA driver to 520 or newer"
)

// remedy is what to do about an error of the driver; an empty call is any.
type remedy struct {
	call string
	code cuda.Code
	cure string
}

// remedies are tried from the first.
var remedies = []remedy{
	{"cuIpcOpenMemHandle", cuda.InvalidContext, "the two processes have the same process id, in different PID namespaces: start the containers with --pid=host, or one of them anew"},
	{"cuIpcOpenMemHandle", cuda.InvalidHandle, "the driver does not know the other process's memory: update the NVIDIA driver; in containers, give both the same GPU"},
	{"cuIpcOpenEventHandle", cuda.MapFailed, "events need a shared /dev/shm and IPC namespace: start containers with --ipc=host"},
	{"cuIpcGetMemHandle", cuda.NotSupported, "this GPU or system cannot share device memory (WSL2, MIG, vGPU and Jetson are such): use facetrack up --threads"},
	{"cuIpcGetEventHandle", cuda.NotSupported, noEvents},
	{"cuStreamWaitValue64", cuda.NotSupported, "this GPU or driver has no 64-bit stream memory operations: update the NVIDIA driver"},
	{"cuMemHostRegister", cuda.NotPermitted, "raise the limit of locked memory (ulimit -l unlimited, LimitMEMLOCK=infinity, docker run --ulimit memlock=-1)"},
	{"cuMemHostRegister", 0, "raise the limits of locked memory (ulimit -l unlimited, LimitMEMLOCK=infinity, docker run --ulimit memlock=-1) and of the container's memory"},
	{"cuMemHostAlloc", 0, "raise the limits of locked memory (ulimit -l unlimited, LimitMEMLOCK=infinity, docker run --ulimit memlock=-1) and of the container's memory"},
	{"", cuda.NoDevice, "look whether nvidia-smi lists a GPU, whether CUDA_VISIBLE_DEVICES hides it, and whether the container was started with --gpus all"},
	{"", cuda.OutOfMemory, "end other programs on the GPU (nvidia-smi lists them), or lower ring.slots"},
	{"", 34, "take the CUDA toolkit's folder stubs out of LD_LIBRARY_PATH: its libcuda.so.1 is no driver"},
	{"", 46, "another program uses the GPU exclusively: end it, or set the compute mode to default (nvidia-smi -c 0)"},
	{"", 218, oldDriver},
	{"", 221, "the driver's compiler libnvidia-ptxjitcompiler is missing: install the driver completely; in a container set NVIDIA_DRIVER_CAPABILITIES=compute,utility"},
	{"", 222, oldDriver},
	{"", 304, "the driver cannot open its files: run nvidia-modprobe -u -c=0 as root; in a container use --gpus all; in a systemd unit DeviceAllow"},
	{"", cuda.NotPermitted, "let both processes run as one user and with the same rights; in a sandbox allow the NVIDIA devices"},
	{"", cuda.NotSupported, "this GPU or driver lacks the function: update the NVIDIA driver, or set cuda.gpu to off"},
	{"", 802, "the GPUs are not ready: start the service nvidia-fabricmanager of the driver's version"},
	{"", 803, reinstall},
	{"", 804, "take the package cuda-compat out of LD_LIBRARY_PATH: this GPU needs the driver's own libcuda.so.1"},
	{"", 805, "no connection to the MPS daemon: start nvidia-cuda-mps-control -d as this user, or remove /tmp/nvidia-mps"},
	{"", 806, mpsCure},
	{"", 807, mpsCure},
	{"", 808, "the MPS server has as many clients as it can: end some"},
	{"", 809, "the MPS server has as many connections as it can: end some of its clients"},
	{"", cuda.InvalidDevice, "the GPU is in exclusive mode or was lost: nvidia-smi -c 0, else look at dmesg for lines with NVRM"},
	{"", cuda.Unknown, "look at dmesg for lines with NVRM; after a suspend reload the module (rmmod nvidia_uvm; modprobe nvidia_uvm), else restart the machine"},
}

// cureOf says what to do about an error; there is always something.
func cureOf(err error) string {
	switch {
	case errors.Is(err, gpuring.ErrZeros):
		return "this system does not really share GPU memory, as WSL2: run on Linux itself, or use facetrack up --threads"
	case errors.Is(err, gpuring.ErrCanary):
		return "the GPU shows other memory than was shared: update the NVIDIA driver, and set cuda.gpu to off until then"
	case errors.Is(err, gpuring.ErrTorn):
		return "waiting for uploads does not work this way: update the NVIDIA driver"
	case errors.Is(err, cuda.ErrNoSuchDevice):
		return "the child process sees other GPUs: remove CUDA_VISIBLE_DEVICES, or set it for all processes alike"
	case errors.Is(err, gpuring.ErrNoFreeSlot):
		return "uploads do not end: look at dmesg for lines with NVRM, end other programs on the GPU, or set cuda.gpu to off"
	case errors.Is(err, gpuring.ErrNoSpace), errors.Is(err, unix.ENOSPC), errors.Is(err, fs.ErrPermission):
		return seeFolder
	}
	var e *cuda.Error
	if !errors.As(err, &e) {
		return "look at the message; facetrack works without it by a slower transport"
	}
	for _, r := range remedies {
		if (r.call == "" || r.call == e.Call) && (r.code == 0 || r.code == e.Code) {
			return r.cure
		}
	}
	if e.Sticky() {
		return "the GPU failed: start the process again; if that does not help, look at dmesg for lines with NVRM"
	}
	return "look at dmesg for lines with NVRM, and update the NVIDIA driver; facetrack works without it by a slower transport"
}
