package gpuring

import "time"

// calm is how long a ring has to be too deep before it gets shallower by one slot; alarm is for how long it does not after a
// reader came to a frame too late.
const (
	calm  = 2 * time.Second
	alarm = time.Minute
)

// depth decides how many of a ring's slots are in use: as many as are needed at once, and one to spare. A shallow ring keeps
// to memory that the caches know. Frames that wait in a reader's queue are held by nobody yet: what tells that they need slots
// too is a reader that comes too late.
type depth struct {
	least, most int
	now         int
	clock       func() int64 // nanoseconds

	began      int64 // when this window began
	peak, last int   // most slots at once that were not free, in this window and the one before

	late   uint64 // leases so far that came too late
	lateAt int64  // when the last of them was noticed; 0: there was none
}

func newDepth(least, most int, clock func() int64) *depth {
	return &depth{least: least, most: most, now: least, clock: clock, began: clock()}
}

// grow adds a slot; false when there is none.
func (d *depth) grow() bool {
	if d.now == d.most {
		return false
	}
	d.now++
	return true
}

// lost takes note of how many leases came too late so far: more than before make the ring deeper by a slot.
func (d *depth) lost(late uint64) {
	if late == d.late {
		return
	}
	d.late, d.lateAt = late, max(d.clock(), 1)
	d.grow()
}

// saw takes note of how many slots were not free at once.
func (d *depth) saw(taken int) {
	d.peak = max(d.peak, taken)
	at := d.clock()
	if at-d.began < int64(calm) {
		return
	}
	alarmed := d.lateAt > 0 && at-d.lateAt < int64(alarm)
	if d.peak <= d.now-2 && d.now > d.least && !alarmed {
		d.now--
	}
	d.last, d.peak, d.began = d.peak, taken, at
}

func (d *depth) stats(s *Stats) {
	s.Depth, s.MinSlots, s.PeakHeld = d.now, d.least, max(d.peak, d.last)
}
