package gpuring

import "time"

// Ticket names one frame in one slot; it is what a frame message carries.
type Ticket struct {
	RingID     string `json:"ring"`
	Slot       int    `json:"slot"`
	Generation uint64 `json:"generation"` // of the slot: even, and never the same twice in one ring
	Seq        uint64 `json:"seq"`
}

// View is where a frame's pixels are, rows tight in both places. A reader of Open has Host; a reader of OpenDevice has
// Device and Fence, and Host as well when it is in the writer's own process. A writer's claim has Host and, in a ring
// with a GPU, Device.
type View struct {
	Host   []byte // Geometry.FrameBytes long; a reader's view is read-only memory
	Device uint64 // CUDA device address in this process, for reading only
	Fence  *Fence // makes a stream wait until the pixels at Device are there; nil without Device, and for a writer
}

// Writer is the one process that fills a ring. Its methods may be called from several goroutines;
// none ever waits for a reader.
type Writer interface {
	// ID returns "<rig>/<camera>/<generation>", different for every ring.
	ID() string
	// Generation returns the ring's generation, one more than that of a writer that died before.
	Generation() uint64
	Geometry() Geometry
	// Begin claims the free slot that was written longest ago, among as many as the ring is deep now. ErrNoFreeSlot
	// when readers, other claims and unfinished uploads have all Geometry.Slots, ErrClosed after Retire or Close.
	Begin() (Claim, error)
	// Ready tells whether Begin would find a slot; it counts nothing.
	Ready() bool
	// NextSeq takes the next gap-free sequence number, from Options.FirstSeq, also for a frame that is then dropped.
	// A writer that takes over from a dead one goes on with its numbers.
	NextSeq() uint64
	// SetPosition stores the source position (frames read), for a writer that takes over.
	SetPosition(frames int64)
	Position() int64
	Readers() []ReaderInfo
	Stats() Stats
	// Descriptor returns what another process needs for Open.
	Descriptor() Descriptor
	// AttachLocal makes a reader of the frames in host memory inside this process.
	AttachLocal(identity string) (Reader, error)
	// UploadStall returns for how long the GPU has not ended any of the uploads under way; 0 when there is none.
	UploadStall() time.Duration
	// CallStall returns for how long a method has been at work: in a ring with a GPU, calls of a driver that hangs do not come back,
	// and keep every other method from its answer but this one.
	CallStall() time.Duration
	// Retire makes room for the camera's next ring: it unlinks the files, so that nobody attaches any more, and no frame
	// begins any more; open claims can only be aborted. Readers go on to lease what was published. It waits for nothing.
	Retire() error
	// Bequeath has Close leave the control block, some KiB, as the death of the writer does: the camera's next writer goes on with its numbers
	// and position. For a last ring whose numbers nobody else could be told.
	Bequeath()
	// Close retires the ring, marks it closed (readers get ErrClosed) and frees it. It waits up to a second for readers to let go of
	// the pixels, and with a GPU two for uploads to end: if they do not, it returns ErrUploading, and what the GPU may touch stays until
	// Close is called again after their end. A driver that does not free memory keeps Close for ever, but no other method.
	Close() error
}

// Claim is a slot that is being written. It ends with exactly one of Publish and Abort.
type Claim interface {
	View() View
	// Publish makes the slot readable as frame seq. ErrReleased when the claim has ended, ErrClosed after Writer.Retire or Close.
	// In a ring with a GPU it queues the upload first and does not wait for it; ErrDevice when that fails: the claim
	// has ended unpublished then, and its pixels are whole until the next Begin.
	Publish(seq uint64) (Ticket, error)
	// Abort gives the slot back unread; its old content is gone. It does nothing when the claim has ended.
	Abort()
}

// Reader is one consumer's attachment to a ring. Its methods may be called from several goroutines.
type Reader interface {
	// Lease holds the ticket's slot. ErrStale: overwritten, or another ring; ErrClosed: the writer has ended;
	// ErrRevoked: this reader was declared dead. One slot can be leased several times.
	Lease(t Ticket) (Lease, error)
	// Close gives back every lease; those still in use report ErrClosed, and their pixels stay mapped until Release.
	Close() error
}

// Lease keeps a frame's pixels from being overwritten until Release.
type Lease interface {
	// View returns the pixels; they may not be touched after Release.
	View() View
	// Valid returns nil when the pixels were whole from Lease until now, ErrRevoked when the lease was taken away
	// (discard any result), ErrClosed after Reader.Close, ErrReleased after Release.
	Valid() error
	// Release makes the check of Valid, then gives the slot back. Later calls return the first one's answer. Work on the
	// GPU must have ended before: ErrTorn when a stream that waited for the view's Fence has not come past it, or
	// came past it without the frame being there (discard any result).
	Release() error
}
