package gpuring

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"facetrack/gpuring/internal/shm"
	"facetrack/internal/clock"
)

// Create makes the ring of a camera in host memory, and with Options.GPU in device memory too: the Writer is a
// DeviceWriter then. If a writer of the same camera died, the new ring goes on with its sequence numbers and
// position, as the next ring generation. ErrInUse when a live writer has the camera, ErrNoSpace when the folder's
// memory does not suffice, ErrOptions for bad options, ErrDevice when the GPU cannot hold or share the ring: create
// it without GPU then.
func Create(o Options) (Writer, error) {
	if o.GPU != nil {
		return create(o, stagedMemory)
	}
	return create(o, hostMemory)
}

// create waits for room while readers let go of a dead writer's ring.
func create(o Options, mem memory) (Writer, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	const pause = 20 * time.Millisecond
	for end := clock.Now() + int64(farewell); ; time.Sleep(pause) {
		w, err := createSoon(o, mem)
		if !errors.Is(err, ErrCrowded) || clock.Now() > end {
			return w, err
		}
	}
}

func createSoon(o Options, mem memory) (Writer, error) {
	const tries = 10 // each new one means that another process was faster
	for range tries {
		w, err := createOnce(o, mem)
		if !errors.Is(err, unix.EEXIST) {
			return w, explain(err, o, mem)
		}
	}
	return nil, fmt.Errorf("%w: camera %q of rig %q is being started by several processes: keep one", ErrInUse, o.Camera, o.Rig)
}

func explain(err error, o Options, mem memory) error {
	if err == nil || errors.Is(err, ErrInUse) || errors.Is(err, ErrDevice) {
		return err
	}
	err, full := shm.Explain(err, o.Dir, mem.shared(o.Geometry)+controlBytes(o.Geometry.Slots))
	if full {
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	return fmt.Errorf("gpuring: %w", err)
}

func createOnce(o Options, mem memory) (_ Writer, err error) {
	old, err := findPredecessor(o, injected.DeafToDeath)
	if err != nil {
		return nil, err
	}
	defer func() {
		if old != nil && shm.Full(err) && mem.shared(o.Geometry) <= shm.Total(o.Dir) {
			err = fmt.Errorf("%w: %w", ErrCrowded, err)
		}
		err = errors.Join(err, old.Close())
	}()
	if _, err := removeDead(o.Dir, filepath.Base(o.path(".")), "", temporarySuffix); err != nil {
		return nil, err
	}
	id := identity{nonce: newNonce(), generation: firstGeneration(), rig: o.Rig, camera: o.Camera}
	generation, same := old.of(o)
	if same {
		id.generation = generation + 1
	}
	c, temporary, err := newControl(o, id)
	if err != nil {
		return nil, err
	}
	if same {
		old.bequeath(c)
	} else {
		c.word(hNextSeq).Store(o.FirstSeq)
		c.word(hPublishedNext).Store(o.FirstSeq)
		c.word(hPosition).Store(uint64(o.Position))
	}
	d := describe(o, id)
	pix, err := placeRing(o, id, c, temporary, old, mem, &d)
	if err != nil {
		return nil, errors.Join(err, c.m.Close(), c.f.Close())
	}
	if same {
		old.tell(c, o.Logger)
	}
	w := startWriter(d, c, pix, newDepth(o.MinSlots, o.Geometry.Slots, clock.Now), o.Logger)
	if w.staged != nil {
		return &deviceWriter{w}, nil
	}
	return w, nil
}

// firstGeneration numbers the ring of a camera that has no predecessor. Wall-clock microseconds keep its id,
// and with it every ticket, apart from those of rings that were closed and unlinked before.
func firstGeneration() uint64 {
	return uint64(clock.Wall() / 1e3)
}

// newControl makes a control block under a temporary name, all of it initialised but for the state.
func newControl(o Options, id identity) (c *control, path string, err error) {
	f, path, err := createTemporary(o.path(controlSuffix), id.nonce, o.gid)
	if err != nil {
		return nil, "", err
	}
	if err = shm.Reserve(f, controlBytes(o.Geometry.Slots)); err == nil {
		c, err = mapControl(f, o.Geometry.Slots)
	}
	if err != nil {
		return nil, "", errors.Join(err, f.Close(), os.Remove(path))
	}
	id.put(c.m)
	c.setGeometry(o.Geometry)
	c.word(hWriterPID).Store(uint64(os.Getpid()))
	c.writerBeat()
	return c, path, nil
}

// placeRing moves both files to their names. The control block goes first: having its name is owning the camera.
func placeRing(o Options, id identity, c *control, temporary string, old *predecessor, mem memory, d *Descriptor) (pixels, error) {
	if old != nil { // its frames are refused from now on: let their memory go before more is taken
		if err := os.Remove(o.path(pixelSuffix)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, errors.Join(err, os.Remove(temporary))
		}
	}
	pix, err := mem.reserve(o, id)
	if err != nil {
		return nil, errors.Join(err, os.Remove(temporary))
	}
	final := o.path(controlSuffix)
	if old != nil {
		err = os.Rename(temporary, final)
	} else {
		err = shm.MoveNew(temporary, final)
	}
	if err != nil {
		return nil, errors.Join(err, pix.unlink(), pix.Close(), os.Remove(temporary))
	}
	if err := pix.place(d); err != nil {
		return nil, errors.Join(err, pix.unlink(), pix.Close(), os.Remove(final))
	}
	c.word(hState).Store(ringOpen)
	return pix, nil
}
