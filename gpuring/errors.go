package gpuring

import "errors"

// What can go wrong with a ring; every error returned wraps one of these, or an error of the operating system.
var (
	// ErrNoFreeSlot: readers hold every slot. The frame is to be dropped; it has been counted.
	ErrNoFreeSlot = errors.New("gpuring: no free slot")
	// ErrStale: the ticket's slot was overwritten, or the ticket is of another ring.
	ErrStale = errors.New("gpuring: stale ticket")
	// ErrClosed: the ring's writer has ended or closed it, or this handle was closed. Attach to the new ring.
	ErrClosed = errors.New("gpuring: ring closed")
	// ErrRevoked: the writer took this reader's leases away because its heartbeat stopped. Discard every result
	// computed from them, close the reader and attach anew.
	ErrRevoked = errors.New("gpuring: reader revoked")
	// ErrReleased: the lease or claim was given back before.
	ErrReleased = errors.New("gpuring: already released")
	// ErrInUse: a live writer has this camera.
	ErrInUse = errors.New("gpuring: camera in use")
	// ErrNotShared: the descriptor's files are not here, or are not that ring: use another transport.
	ErrNotShared = errors.New("gpuring: ring not shared with this process")
	// ErrReadersFull: MaxReaders readers are attached.
	ErrReadersFull = errors.New("gpuring: reader table full")
	// ErrNoSpace: the ring does not fit into its folder's memory.
	ErrNoSpace = errors.New("gpuring: not enough shared memory")
	// ErrCrowded: the ring does not fit beside that of a writer that died, which readers still map. It is ErrNoSpace as well.
	ErrCrowded = errors.New("gpuring: readers still have the ring before")
	// ErrTorn: the frame was not, or not yet, in device memory when the work on it began, or that work was not waited
	// for. Discard the result.
	ErrTorn = errors.New("gpuring: frame torn")
	// ErrDevice: the GPU failed; the error wraps the *cuda.Error, if there is one. Use a ring or a reader without it.
	ErrDevice = errors.New("gpuring: GPU failed")
	// ErrUploading: uploads have not ended, and what they may touch is kept. Close again, later, to free it.
	ErrUploading = errors.New("gpuring: uploads have not ended")
	// ErrZeros: the imported memory reads as zeros, as under WSL2.
	ErrZeros = errors.New("gpuring: imported device memory holds zeros only")
	// ErrCanary: the imported memory does not hold what the writer wrote there.
	ErrCanary = errors.New("gpuring: imported device memory is not the writer's")
	// ErrOptions: an option is out of its range.
	ErrOptions = errors.New("gpuring: bad option")
)
