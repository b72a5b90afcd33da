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
	device *devicePixels // pix of a device reader
	fences *fences       // of a device reader
	parted parting       // the heartbeat's own
	refs   []int         // leases of each slot: the bit is set while there is one
	leases int           // all of them: the pixels stay mapped for them
	closed bool
	lost   error // of the heartbeat, for Close to tell
}

func startReader(d Descriptor, c *control, pix pixels, index int, epoch uint64) *ringReader {
	r := &ringReader{id: d.Ring, index: index, epoch: epoch, c: c, pix: pix, refs: make([]int, c.slots)}
	if p, ok := pix.(*devicePixels); ok {
		r.device, r.fences = p, p.fences
		r.fences.gone = c.closedOrDead
		r.fences.bench.watch(r.fences)
	}
	c.reader(index, rMaps).Store(1)
	r.pulse = every(beatInterval, r.beat)
	return r
}

// beat shows that this process lives, and looks whether the writer does.
func (r *ringReader) beat() {
	r.c.beat(r.index)
	if !r.gone.Load() && r.c.closedOrDead() {
		r.gone.Store(true)
	}
	if r.gone.Load() && !r.letGo() && r.device != nil {
		r.device.part(&r.parted)
	}
}

// letGo gives up the pixels of a ring whose writer has gone, unless they are leased or this reader is busy: there may be no room for
// the next ring beside them.
func (r *ringReader) letGo() bool {
	if !r.mu.TryLock() { // Close holds it while it waits for the heartbeat
		return false
	}
	defer r.mu.Unlock()
	if r.leases > 0 || r.closed {
		return false
	}
	if err := r.pix.Close(); err != nil && r.lost == nil {
		r.lost = err
	}
	r.c.reader(r.index, rMaps).Store(0)
	return true
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
	l := &lease{r: r, slot: t.Slot, view: r.pix.view(t.Slot)}
	if r.fences != nil {
		l.view.Fence = r.fences.fence(t.Slot, t.Generation)
	}
	return l, nil
}

// take sets this reader's bit, then makes sure that the bit counts: a reader that was revoked between the two
// may have set it on a slot that nobody protects.
func (r *ringReader) take(t Ticket) error {
	if r.c.faults.NoLeases {
		r.refs[t.Slot]++
		return nil
	}
	if !r.c.hold(t.Slot, t.Generation, r.index) {
		if r.c.overwritten(t) && !r.c.faults.DeafToLateness {
			r.c.word(hTooLate).Add(1)
		}
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
	err := errors.Join(r.lost, r.c.leaveEntry(r.index, r.epoch))
	if r.leases == 0 {
		err = errors.Join(err, r.end())
	} else if r.device != nil {
		r.pulse = every(beatInterval, r.linger)
	}
	if err != nil {
		return fmt.Errorf("close reader of %s: %w", r.id, err)
	}
	return nil
}

// linger sees to the streams of a closed device reader's leases: the writer may die before they come past their fences.
func (r *ringReader) linger() {
	if r.c.closedOrDead() {
		r.device.part(&r.parted)
	}
}

// end follows Close, after the last Release.
func (r *ringReader) end() error {
	return errors.Join(r.pix.Close(), r.c.m.Close(), r.c.f.Close())
}
