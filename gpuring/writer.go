package gpuring

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"facetrack/gpuring/internal/shm"
	"facetrack/internal/clock"
)

type ringWriter struct {
	desc   Descriptor
	log    *slog.Logger
	reaper *ticking

	mu       callLock // orders this process's calls; no reader can hold it
	c        *control
	pix      pixels
	staged   *stagedPixels // pix of a ring with a GPU
	depth    *depth
	claims   int // open ones: the pixels stay mapped for them
	retired  bool
	bequests bool // the control block stays behind
	closed   bool
	released bool // Close has come to the pixels: the last claim closes them
	kept     bool // uploads keep the pixels from being freed: the next Close tries again
}

func startWriter(d Descriptor, c *control, pix pixels, depth *depth, log *slog.Logger) *ringWriter {
	log = log.With("ring", d.Ring)
	w := &ringWriter{desc: d, log: log, reaper: newReaper(c, log), c: c, pix: pix, depth: depth}
	if w.staged, _ = pix.(*stagedPixels); w.staged != nil {
		announceLocal(d, w.staged)
	}
	return w
}

// deviceWriter is the ringWriter of a ring with a GPU.
type deviceWriter struct{ *ringWriter }

func (w *deviceWriter) Device() *DeviceMemory { return w.desc.Device }

func (w *ringWriter) ID() string             { return w.desc.Ring }
func (w *ringWriter) Generation() uint64     { return w.desc.Generation }
func (w *ringWriter) Geometry() Geometry     { return w.desc.Geometry }
func (w *ringWriter) Descriptor() Descriptor { return w.desc }

func (w *ringWriter) Begin() (Claim, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.retired {
		return nil, fmt.Errorf("%w: %s", ErrClosed, w.desc.Ring)
	}
	w.depth.lost(w.c.word(hTooLate).Load())
	slot, generation, ok := w.c.begin(choice{w.depth.now, w.busy})
	for !ok && w.depth.grow() {
		slot, generation, ok = w.c.begin(choice{w.depth.now, w.busy})
	}
	w.depth.saw(w.c.taken(w.busy))
	if !ok {
		w.c.word(hNoFreeSlot).Add(1)
		return nil, ErrNoFreeSlot
	}
	w.claims++
	return &claim{w: w, slot: slot, odd: generation, view: w.pix.view(slot)}, nil
}

func (w *ringWriter) Ready() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.retired { // its events may be gone
		return false
	}
	_, _, found := w.c.oldestFree(choice{w.c.slots, w.busy})
	return found
}

// busy reports whether a slot is not free although nobody holds it: the GPU still reads it.
func (w *ringWriter) busy(slot int) bool {
	return w.staged != nil && !w.c.faults.IgnoreUploads && w.staged.pending(slot)
}

func (w *ringWriter) NextSeq() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.c.word(hNextSeq).Add(1) - 1
}

func (w *ringWriter) SetPosition(frames int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.c.word(hPosition).Store(uint64(frames))
}

func (w *ringWriter) Position() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return int64(w.c.word(hPosition).Load())
}

func (w *ringWriter) Readers() []ReaderInfo {
	w.mu.Lock()
	defer w.mu.Unlock()
	readers := []ReaderInfo{}
	for i := range MaxReaders {
		if info, attached := w.c.readerInfo(i); attached && !w.closed {
			readers = append(readers, info)
		}
	}
	return readers
}

func (w *ringWriter) Stats() Stats {
	readers := w.Readers()
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.c.stats()
	s.Readers = readers
	w.depth.stats(&s)
	if w.staged != nil {
		w.staged.stats(&s, !w.released)
	}
	return s
}

func (w *ringWriter) UploadStall() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.staged == nil || w.released {
		return 0
	}
	return w.staged.stall()
}

func (w *ringWriter) AttachLocal(name string) (Reader, error) {
	w.mu.Lock()
	retired := w.retired
	w.mu.Unlock()
	if retired {
		return nil, fmt.Errorf("%w: %s", ErrClosed, w.desc.Ring)
	}
	return Open(w.desc, name)
}

func (w *ringWriter) Retire() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.retire()
}

func (w *ringWriter) Bequeath() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bequests = true
}

func (w *ringWriter) retire() error {
	if w.retired {
		return nil
	}
	w.retired = true
	if w.staged != nil {
		forgetLocal(w.desc)
	}
	if w.bequests {
		return w.pix.unlink()
	}
	return errors.Join(w.pix.unlink(), unlinkOwn(w.c.f, w.desc.ControlPath))
}

func (w *ringWriter) Close() error {
	w.mu.Lock()
	again, kept := w.closed, w.kept
	w.closed, w.kept = true, false
	var err error
	if !again {
		w.c.word(hState).Store(ringClosed)
		err = w.retire()
	}
	w.mu.Unlock()
	switch {
	case !again:
		w.c.awaitReaders()
		err = errors.Join(err, w.release())
	case kept:
		err = w.free()
	}
	if err != nil {
		return fmt.Errorf("close ring %s: %w", w.desc.Ring, err)
	}
	return nil
}

// release gives everything back. The driver may be long about it, or never end: the lock is not held for so long.
func (w *ringWriter) release() error {
	w.mu.Lock()
	w.reaper.stop()
	err := errors.Join(w.c.m.Detach(), w.c.f.Close())
	w.released = true
	claimed := w.claims > 0
	w.mu.Unlock()
	if !claimed {
		err = errors.Join(err, w.free())
	}
	return err
}

func (w *ringWriter) free() error {
	err := w.pix.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = errors.Is(err, ErrUploading)
	return err
}

// farewell is how long readers have to let go of pixels: ten heartbeats.
const farewell = time.Second

// awaitReaders returns when no living reader has the pixels mapped, or when they have had their time.
func (c *control) awaitReaders() {
	for end := clock.Now() + int64(farewell); c.mapped() && clock.Now() < end; {
		time.Sleep(2 * time.Millisecond)
	}
}

func (c *control) mapped() bool {
	for i := range MaxReaders {
		status := c.reader(i, rState).Load() & statusMask
		if status != readerFree && c.reader(i, rMaps).Load() != 0 && !c.ownerGone(readerByte(i)) {
			return true
		}
	}
	return false
}

func (c *control) writerBeat() {
	c.word(hWriterBeat).Store(uint64(clock.Now()))
}

// closedOrDead reports whether a reader must leave the ring.
func (c *control) closedOrDead() bool {
	return c.word(hState).Load() != ringOpen || c.ownerGone(shm.OwnerByte)
}
