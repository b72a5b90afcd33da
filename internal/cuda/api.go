package cuda

import "errors"

// Errors that are not the driver's. A driver error is an *Error.
var (
	ErrNotBuilt     = errors.New("this program was built without CUDA: build it with make build")
	ErrNoDriver     = errors.New("no NVIDIA driver: libcuda.so.1 is not here")
	ErrNoSuchDevice = errors.New("no such CUDA device here")
	ErrClosed       = errors.New("cuda: closed")
)

// Device is what the driver says of one GPU.
type Device struct {
	Ordinal      int // in this process only
	UUID         UUID
	Name         string
	PCI          string // "0000:19:00.0"
	Major, Minor int    // compute capability
	Memory       int64  // bytes
	ComputeMode  int    // 0 default, 2 prohibited, 3 exclusive process
	Integrated   bool   // shares memory with the CPU, as on Jetson: no legacy memory IPC
	MIG          bool   // a MIG instance: cannot share memory with other processes
	IPCEvents    bool   // can export events
	MemOps64     bool   // has 64-bit stream memory operations
	SharedMemory int    // bytes that a thread block can have, with AllowShared
}

// EventOptions choose what an event is for.
type EventOptions struct {
	Interprocess bool // Handle works
	Timing       bool // Elapsed works; not together with Interprocess
}

// Dim is the extent of a grid or a block; a zero Y or Z counts as 1.
type Dim struct{ X, Y, Z int }
