package gpuring

import "time"

// calm is how long a ring has to be too deep before it gets shallower by one slot.
const calm = 2 * time.Second

// depth decides how many of a ring's slots are in use: as many as are needed at once, and one to spare. A shallow ring keeps
// to memory that the caches know.
type depth struct {
	least, most int
	now         int
	clock       func() int64 // nanoseconds

	began      int64 // when this window began
	peak, last int   // most slots at once that were not free, in this window and the one before
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

// saw takes note of how many slots were not free at once.
func (d *depth) saw(taken int) {
	d.peak = max(d.peak, taken)
	at := d.clock()
	if at-d.began < int64(calm) {
		return
	}
	if d.peak <= d.now-2 && d.now > d.least {
		d.now--
	}
	d.last, d.peak, d.began = d.peak, taken, at
}

func (d *depth) stats(s *Stats) {
	s.Depth, s.MinSlots, s.PeakHeld = d.now, d.least, max(d.peak, d.last)
}
