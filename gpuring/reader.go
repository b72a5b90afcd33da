package gpuring

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

type ringReader struct {
	id    string
	index int    // of its entry, and of its bit in a slot's state
	epoch uint64 // of its entry
	gone  atomic.Bool
	pulse *ticking

	mu     sync.Mutex // orders this process's calls; the writer never takes it
	c      *control
	pix    pixels
	refs   []int // leases of each slot: the bit is set while there is one
	leases int   // all of them: the pixels stay mapped for them
	closed bool
}

func startReader(d Descriptor, c *control, pix pixels, index int, epoch uint64) *ringReader {
	r := &ringReader{id: d.Ring, index: index, epoch: epoch, c: c, pix: pix, refs: make([]int, c.slots)}
	r.pulse = every(beatInterval, r.beat)
	return r
}

// beat shows that this process lives, and looks whether the writer does.
func (r *ringReader) beat() {
	r.c.beat(r.index)
	if r.c.closedOrDead() {
		r.gone.Store(true)
	}
}

func (r *ringReader) Lease(t Ticket) (Lease, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return nil, fmt.Errorf("%w: this reader of %s was closed", ErrClosed, r.id)
	case !r.c.live(r.index, r.epoch):
		return nil, fmt.Errorf("%w: reader of %s", ErrRevoked, r.id)
	case r.gone.Load() || r.c.word(hState).Load() != ringOpen:
		return nil, fmt.Errorf("%w: the writer of %s has ended", ErrClosed, r.id)
	case t.RingID != r.id:
		return nil, fmt.Errorf("%w: it is of ring %q, this is %s", ErrStale, t.RingID, r.id)
	case t.Slot < 0 || t.Slot >= r.c.slots || t.Generation == 0 || t.Generation%2 != 0:
		return nil, fmt.Errorf("%w: slot %d generation %d cannot be in %s", ErrStale, t.Slot, t.Generation, r.id)
	}
	if err := r.take(t); err != nil {
		return nil, err
	}
	r.leases++
	return &lease{r: r, slot: t.Slot, view: r.pix.view(t.Slot)}, nil
}

// take sets this reader's bit, then makes sure that the bit counts: a reader that was revoked between the two
// may have set it on a slot that nobody protects.
func (r *ringReader) take(t Ticket) error {
	if !r.c.hold(t.Slot, t.Generation, r.index) {
		return fmt.Errorf("%w: slot %d holds another frame than %d by now", ErrStale, t.Slot, t.Seq)
	}
	r.refs[t.Slot]++
	if !r.c.live(r.index, r.epoch) {
		r.drop(t.Slot)
		return fmt.Errorf("%w: reader of %s", ErrRevoked, r.id)
	}
	if seq := r.c.slot(t.Slot, sSeq).Load(); seq != t.Seq && !r.c.faults.IgnoreGeneration {
		r.drop(t.Slot)
		return fmt.Errorf("%w: slot %d generation %d is frame %d, not %d", ErrStale, t.Slot, t.Generation, seq, t.Seq)
	}
	return nil
}

func (r *ringReader) drop(slot int) {
	if r.refs[slot]--; r.refs[slot] == 0 {
		r.c.letGo(slot, r.index)
	}
}

func (r *ringReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	r.pulse.stop()
	err := errors.Join(r.c.leaveEntry(r.index, r.epoch), r.c.m.Close(), r.c.f.Close())
	if r.leases == 0 {
		err = errors.Join(err, r.pix.Close())
	}
	if err != nil {
		return fmt.Errorf("close reader of %s: %w", r.id, err)
	}
	return nil
}
