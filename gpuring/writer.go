package gpuring

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"facetrack/gpuring/internal/shm"
	"facetrack/internal/clock"
)

type ringWriter struct {
	desc   Descriptor
	open   opener // for AttachLocal
	log    *slog.Logger
	reaper *ticking

	mu     sync.Mutex // orders this process's calls; no reader can hold it
	c      *control
	pix    pixels
	claims int // open ones: the pixels stay mapped for them
	closed bool
}

func startWriter(d Descriptor, c *control, pix pixels, open opener, log *slog.Logger) *ringWriter {
	log = log.With("ring", d.Ring)
	return &ringWriter{desc: d, open: open, log: log, reaper: newReaper(c, log), c: c, pix: pix}
}

func (w *ringWriter) ID() string             { return w.desc.Ring }
func (w *ringWriter) Generation() uint64     { return w.desc.Generation }
func (w *ringWriter) Geometry() Geometry     { return w.desc.Geometry }
func (w *ringWriter) Descriptor() Descriptor { return w.desc }

func (w *ringWriter) Begin() (Claim, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, fmt.Errorf("%w: %s", ErrClosed, w.desc.Ring)
	}
	slot, generation, ok := w.c.begin()
	if !ok {
		w.c.word(hNoFreeSlot).Add(1)
		return nil, ErrNoFreeSlot
	}
	w.claims++
	return &claim{w: w, slot: slot, odd: generation, view: w.pix.view(slot)}, nil
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
	return s
}

func (w *ringWriter) AttachLocal(name string) (Reader, error) {
	w.mu.Lock()
	closed := w.closed
	w.mu.Unlock()
	if closed {
		return nil, fmt.Errorf("%w: %s", ErrClosed, w.desc.Ring)
	}
	return attach(w.desc, name, w.open)
}

func (w *ringWriter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	w.closed = true
	w.reaper.stop()
	w.c.word(hState).Store(ringClosed)
	err := errors.Join(w.pix.unlink(), unlinkOwn(w.c.f, w.desc.ControlPath), w.c.m.Detach(), w.c.f.Close())
	if w.claims == 0 {
		err = errors.Join(err, w.pix.Close())
	}
	if err != nil {
		return fmt.Errorf("close ring %s: %w", w.desc.Ring, err)
	}
	return nil
}

func (c *control) writerBeat() {
	c.word(hWriterBeat).Store(uint64(clock.Now()))
}

// closedOrDead reports whether a reader must leave the ring.
func (c *control) closedOrDead() bool {
	return c.word(hState).Load() != ringOpen || c.ownerGone(shm.OwnerByte)
}
