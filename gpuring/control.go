package gpuring

import (
	"fmt"
	"math/bits"
	"os"
	"sync/atomic"

	"facetrack/gpuring/internal/shm"
)

// control is one opening of a ring's control block. It knows nothing of where pixels are.
type control struct {
	f      *os.File
	m      *shm.Map
	slots  int
	faults faults
}

func mapControl(f *os.File, slots int) (*control, error) {
	m, err := shm.MapFile(f, controlBytes(slots), true)
	if err != nil {
		return nil, err
	}
	return &control{f: f, m: m, slots: slots, faults: injectedNow()}, nil
}

func (c *control) word(i int) *atomic.Uint64 { return c.m.Word(i) }

func (c *control) slot(i, field int) *atomic.Uint64 {
	return c.m.Word(headerWords + i*slotWords + field)
}

func (c *control) reader(i, field int) *atomic.Uint64 {
	return c.m.Word(headerWords + c.slots*slotWords + i*readerWords + field)
}

func (c *control) geometry() Geometry {
	return Geometry{
		Width:  int(c.word(hWidth).Load()),
		Height: int(c.word(hHeight).Load()),
		Format: Format(getText(c.m, hFormat, 1)),
		Slots:  c.slots,
	}
}

func (c *control) setGeometry(g Geometry) {
	c.word(hWidth).Store(uint64(g.Width))
	c.word(hHeight).Store(uint64(g.Height))
	c.word(hSlots).Store(uint64(g.Slots))
	putText(c.m, hFormat, 1, string(g.Format))
}

// stats counts slots and copies the counters; readers are left to the caller.
func (c *control) stats() Stats {
	s := Stats{
		Slots:            c.slots,
		NextSeq:          c.word(hNextSeq).Load(),
		PublishedNext:    c.word(hPublishedNext).Load(),
		Published:        c.word(hPublished).Load(),
		Aborted:          c.word(hAborted).Load(),
		NoFreeSlot:       c.word(hNoFreeSlot).Load(),
		TooLate:          c.word(hTooLate).Load(),
		ReclaimedDead:    c.word(hReclaimDead).Load(),
		ReclaimedStalled: c.word(hReclaimStalled).Load(),
	}
	for i := range c.slots {
		switch state := c.slot(i, sState).Load(); {
		case state&holderMask != 0:
			s.Held++
		case state>>holderBits&1 != 0:
			s.Writing++
		default:
			s.Free++
		}
	}
	return s
}

// held returns how many slots reader i holds.
func (c *control) held(i int) (n int) {
	for slot := range c.slots {
		n += bits.OnesCount64(c.slot(slot, sState).Load() & (1 << i))
	}
	return n
}

// ownerGone reports whether the process that held the lock on a byte has ended.
func (c *control) ownerGone(at int64) bool {
	if c.faults.DeafToDeath {
		return false
	}
	locked, err := shm.Locked(c.f, at)
	return err == nil && !locked
}

// identity is what both files of a ring begin with.
type identity struct {
	nonce, generation uint64
	rig, camera       string
}

func (id identity) put(m *shm.Map) {
	m.Word(hLayout).Store(layout)
	m.Word(hNonce).Store(id.nonce)
	m.Word(hGeneration).Store(id.generation)
	putText(m, hRig, nameWords, id.rig)
	putText(m, hCamera, nameWords, id.camera)
	m.Word(hMagic).Store(magic)
}

// getIdentity fails for a file that is no ring, or one of another version.
func getIdentity(m *shm.Map) (identity, error) {
	if m.Word(hMagic).Load() != magic {
		return identity{}, fmt.Errorf("%w: no ring file", ErrNotShared)
	}
	if v := m.Word(hLayout).Load(); v != layout {
		return identity{}, fmt.Errorf("%w: layout version %d, this program knows %d: use the same version of facetrack on both sides",
			ErrNotShared, v, layout)
	}
	return identity{
		nonce:      m.Word(hNonce).Load(),
		generation: m.Word(hGeneration).Load(),
		rig:        getText(m, hRig, nameWords),
		camera:     getText(m, hCamera, nameWords),
	}, nil
}
