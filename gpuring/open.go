package gpuring

import (
	"errors"
	"fmt"
	"strconv"

	"facetrack/gpuring/internal/shm"
)

// Open attaches to the ring that d describes, as a reader with the given name (up to 64 bytes, for people).
// ErrNotShared: the files are not here or are not that ring, whatever the reason; ErrClosed: its writer has
// ended; ErrReadersFull: no place is left.
func Open(d Descriptor, name string) (Reader, error) { return orNone(attach(d, name, hostMemory.open)) }

func orNone(r *ringReader, err error) (Reader, error) {
	if err != nil {
		return nil, err
	}
	return r, nil
}

type opener = func(d Descriptor, id identity) (pixels, error)

func attach(d Descriptor, name string, open opener) (*ringReader, error) {
	if err := d.Geometry.validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotShared, err)
	}
	c, id, err := openControl(d)
	if err != nil {
		return nil, err
	}
	pix, err := openAlive(d, c, id, open)
	if err != nil {
		return nil, errors.Join(err, c.m.Close(), c.f.Close())
	}
	i, epoch, err := c.claimEntry(name)
	if err != nil {
		return nil, errors.Join(err, pix.Close(), c.m.Close(), c.f.Close())
	}
	return startReader(d, c, pix, i, epoch), nil
}

// openControl maps the control block and checks that it is the one described.
func openControl(d Descriptor) (*control, identity, error) {
	group, err := groupID(d.Group)
	if err != nil {
		return nil, identity{}, fmt.Errorf("%w: %w", ErrNotShared, err)
	}
	f, size, err := shm.Open(d.ControlPath, group)
	if err != nil {
		return nil, identity{}, fmt.Errorf("%w: %w", ErrNotShared, err)
	}
	if want := controlBytes(d.Geometry.Slots); size != want || d.ControlBytes != want {
		err := fmt.Errorf("%w: %s has %d bytes, its geometry needs %d", ErrNotShared, d.ControlPath, size, want)
		return nil, identity{}, errors.Join(err, f.Close())
	}
	c, err := mapControl(f, d.Geometry.Slots)
	if err != nil {
		return nil, identity{}, errors.Join(err, f.Close())
	}
	id, err := checkControl(c, d)
	if err != nil {
		return nil, identity{}, errors.Join(err, c.m.Close(), f.Close())
	}
	return c, id, nil
}

func checkControl(c *control, d Descriptor) (identity, error) {
	id, err := getIdentity(c.m)
	if err != nil {
		return identity{}, err
	}
	nonce, err := strconv.ParseUint(d.Nonce, 16, 64)
	if err != nil || nonce != id.nonce || d.Ring != ringID(id.rig, id.camera, id.generation) {
		return identity{}, fmt.Errorf("%w: %s is ring %s, not the %s described: ask for the descriptor again",
			ErrNotShared, d.ControlPath, ringID(id.rig, id.camera, id.generation), d.Ring)
	}
	if c.word(hSlots).Load() != uint64(c.slots) || c.geometry() != d.Geometry {
		return identity{}, fmt.Errorf("%w: %s has another geometry than described", ErrNotShared, d.ControlPath)
	}
	return id, nil
}

// openAlive maps the pixels of a ring whose writer lives.
func openAlive(d Descriptor, c *control, id identity, open opener) (pixels, error) {
	if c.closedOrDead() {
		return nil, fmt.Errorf("%w: the writer of %s (process %d) has ended", ErrClosed, d.Ring, d.WriterPID)
	}
	pix, err := open(d, id)
	if err != nil && c.closedOrDead() { // it ended meanwhile
		return nil, fmt.Errorf("%w: the writer of %s (process %d) has ended: %w", ErrClosed, d.Ring, d.WriterPID, err)
	}
	return pix, err
}
