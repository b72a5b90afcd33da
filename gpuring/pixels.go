package gpuring

// pixels is one process's access to the frames of a ring. The control block, leases and reclaiming do not
// depend on where they are.
type pixels interface {
	// view returns the frame of a slot; a reader's is for reading only.
	view(slot int) View
	// place makes the writer's pixels reachable under their final name and says in d how.
	place(d *Descriptor) error
	// unlink takes the name away; attached readers keep the memory.
	unlink() error
	// Close ends the access; a second call does nothing.
	Close() error
}

// memory is a kind of pixel memory.
type memory struct {
	// reserve takes all of the memory for a writer, not yet placed.
	reserve func(o Options, id identity) (pixels, error)
	// open gives a reader access.
	open func(d Descriptor, id identity) (pixels, error)
	// shared returns how many bytes of the ring's folder are needed.
	shared func(g Geometry) int64
}
