package ipcbench

import (
	"facetrack/gpuring"
	"facetrack/ipc"
)

// kind is how a frame gets to the consumer.
type kind string

const (
	kindDevice   kind = "device"   // leased where it is in device memory
	kindPinned   kind = "pinned"   // leased in shared memory, uploaded from the consumer's page-locked mapping
	kindPageable kind = "pageable" // the same, from a mapping that is not page-locked
	kindMessage  kind = "message"  // in the NATS message
	kindCopy     kind = "copy"     // fetched over NATS as facetrack's own transport copy does
	kindPython   kind = "python"   // both sides are processes of Python
)

// transport is one way to compare.
type transport struct {
	Name string
	Kind kind
	Sync gpuring.Sync
	How  string // for people
	// Extra ones are there to compare with; they get fewer frames.
	Extra bool
}

// Names of transports that others are compared with.
const (
	Auto       = "cuda-ipc"
	Events     = "cuda-ipc events"
	MemOps     = "cuda-ipc memops"
	Shm        = "shm"
	TorchQueue = "torch queue"
	TorchPipe  = "torch simple queue"
)

var transports = []transport{
	{Auto, kindDevice, gpuring.SyncAuto, "uploaded once by the producer, read in place; waits by event, guarded by a memory operation (facetrack's default)", false},
	{Events, kindDevice, gpuring.SyncEvents, "the same; the stream waits for the interprocess event, always", false},
	{MemOps, kindDevice, gpuring.SyncMemOps, "the same; the stream waits for the ready word, always", false},
	{Shm, kindPinned, "", "host ring; each consumer uploads from its own page-locked mapping", false},
	{"shm pageable", kindPageable, "", "host ring; each consumer uploads straight from a mapping that is not page-locked", true},
	{"nats message", kindMessage, "", "pixels in one NATS message (max_payload raised); the consumer uploads the message's memory, which is not page-locked", false},
	{"nats copy", kindCopy, "", "pixels fetched over NATS in chunks with a checksum (facetrack's transport copy); the consumer uploads the copy, which is not page-locked", true},
	{TorchQueue, kindPython, "", "torch.multiprocessing.Queue: pinned tensor, .to(cuda, non_blocking), put; the consumer gets the CUDA tensor", false},
	{TorchPipe, kindPython, "", "the same with torch.multiprocessing.SimpleQueue, which has no thread in between", true},
	{"pickled numpy", kindPython, "", "multiprocessing.Queue of numpy arrays; the consumer uploads", true},
}

// needsGPU: without one, pageable memory is read as any other.
func (t transport) needsGPU() bool {
	return t.Kind == kindDevice || t.Kind == kindPython || t.Kind == kindPageable
}

// subjects of the frames of one transport's ring or of its messages.
func frameSubject(camera string) string { return ipc.Subject(rig, camera, ipc.KindFrame) }
func ackSubject(camera string) string   { return ipc.Subject(rig, camera, ipc.KindAck) }

// rig is that of the benchmark's rings; the camera names process, format and memory.
const rig = "ipcbench"
