package gpuring

import "facetrack/internal/cuda"

// Sync is how a consumer's stream waits for a frame in device memory.
type Sync string

// The methods. None of them stops the host.
const (
	// SyncAuto takes events, or memory operations where events cannot be shared. Where the GPU has both, a frame that is not
	// there yet is waited for by its ready word, so that a writer's death cannot leave the stream waiting.
	SyncAuto Sync = "auto"
	// SyncEvents waits for interprocess events, always. A writer that is killed in mid-upload leaves a stream that waits
	// for ever, see DeviceOptions.Stuck.
	SyncEvents Sync = "events"
	// SyncMemOps waits for ready words by stream memory operations: it needs no shared IPC namespace.
	SyncMemOps Sync = "memops"
)

// DeviceOptions are a device reader's choices.
type DeviceOptions struct {
	// GPU is where the consumer's streams run: the ring's own device, or one with peer access to it. It must stay open
	// until after Close and the last Release. A reader in the writer's process may leave it nil: it uses the writer's then.
	GPU  *cuda.Context
	Sync Sync // SyncAuto when empty
	// Stuck is called, once, when the writer has been gone for a second and a stream of this process still waits: for an event
	// that nobody can record any more, or for ready words in more streams than the GPU has queues (8 by default), so that
	// poison does not come through. The driver offers no way out but to end the process.
	Stuck func(error)
}

// DeviceReader reads frames where they are in device memory. Its views have Device and Fence: make each stream that
// reads the pixels wait for the fence, queue the work, wait for the end of the work, then Release.
type DeviceReader interface {
	Reader
	// Sync tells whether events or memory operations are in use.
	Sync() Sync
	// SameProcess tells that the writer is in this process: nothing was imported.
	SameProcess() bool
	// Prove reads a cell that DeviceWriter.WriteProof wrote, on the GPU, through the way that frames take. ErrZeros or
	// ErrCanary when it does not hold the challenge, ErrDevice when the GPU fails, ErrClosed when the ring is.
	Prove(cell int, challenge [64]byte) error
}

// DeviceWriter is the Writer of a ring with a GPU.
type DeviceWriter interface {
	Writer
	// WriteProof writes a fresh challenge, not all zeros, into device memory, for DeviceReader.Prove in the process that
	// asks. As many as MaxReaders proofs can be under way.
	WriteProof(challenge [64]byte) (cell int, err error)
	// Device returns Descriptor().Device.
	Device() *DeviceMemory
}

// OpenDevice attaches to the ring that d describes and reads its frames in device memory. Besides the errors of
// Open: ErrNotShared when the ring has none, ErrDevice when this process cannot import it or cannot wait for frames
// on the GPU. A reader counts only after Prove: some systems import memory that is not the writer's.
func OpenDevice(d Descriptor, name string, o DeviceOptions) (Reader, error) {
	r, err := openDevice(d, name, o)
	if err != nil {
		return nil, err
	}
	return r, nil
}
