package gpuring

import "fmt"

// choice is what Begin chooses from: the first depth slots, but for those that are busy otherwise.
type choice struct {
	depth int
	busy  func(slot int) bool
}

// oldestFree returns the free slot that was written longest ago, and its state.
func (c *control) oldestFree(from choice) (slot int, state uint64, found bool) {
	var oldest uint64
	for i := range from.depth {
		s := c.slot(i, sState).Load()
		held := s&holderMask != 0 && !c.faults.IgnoreHolders
		if writing := s>>holderBits&1 != 0; held || writing || from.busy(i) {
			continue
		}
		if order := c.slot(i, sOrder).Load(); !found || order < oldest {
			slot, state, oldest, found = i, s, order, true
		}
	}
	return slot, state, found
}

// taken counts the slots that are not free.
func (c *control) taken(busy func(slot int) bool) (n int) {
	for i := range c.slots {
		s := c.slot(i, sState).Load()
		if s&holderMask != 0 || s>>holderBits&1 != 0 || busy(i) {
			n++
		}
	}
	return n
}

// begin turns a free slot's generation odd. A reader that leases the slot between the look and the exchange
// costs one more look; the number of looks is bounded, so that readers cannot keep the writer here.
func (c *control) begin(from choice) (slot int, generation uint64, ok bool) {
	for range 2*c.slots + 2 {
		slot, state, found := c.oldestFree(from)
		if !found {
			return 0, 0, false
		}
		generation := nextGeneration(state >> holderBits)
		if c.slot(slot, sState).CompareAndSwap(state, generation<<holderBits) {
			return slot, generation, true
		}
	}
	return 0, 0, false
}

// finish turns the odd generation even; order 0 marks a slot without a frame.
func (c *control) finish(slot int, odd, seq, order uint64) (generation uint64, err error) {
	generation = nextGeneration(odd)
	c.slot(slot, sSeq).Store(seq)
	c.slot(slot, sOrder).Store(order)
	if !c.slot(slot, sState).CompareAndSwap(odd<<holderBits, generation<<holderBits) {
		return 0, fmt.Errorf("%w: slot %d changed while it was written: the control block is damaged, restart the capture process", ErrClosed, slot)
	}
	return generation, nil
}

// overwritten tells whether the slot has gone on since the ticket's frame, and not the ticket is one that never was.
func (c *control) overwritten(t Ticket) bool {
	ahead := (c.slot(t.Slot, sState).Load()>>holderBits - t.Generation) & generationMask
	return ahead > 0 && ahead <= generationMask/2
}

// hold sets reader i's bit if the slot has the generation.
func (c *control) hold(slot int, generation uint64, i int) bool {
	word := c.slot(slot, sState)
	for {
		state := word.Load()
		if state>>holderBits != generation && !c.faults.IgnoreGeneration {
			return false
		}
		if c.faults.BeforeHold != nil {
			c.faults.BeforeHold()
		}
		if word.CompareAndSwap(state, state|1<<i) {
			return true
		}
	}
}

// letGo clears reader i's bit and reports whether it was set. It may be called at any time by whoever owns
// the entry, for no one else can be given this bit meanwhile.
func (c *control) letGo(slot, i int) bool {
	word := c.slot(slot, sState)
	if word.Load()&(1<<i) == 0 {
		return false
	}
	return word.And(^uint64(1<<i))&(1<<i) != 0
}

// letGoAll clears reader i's bit everywhere and returns how many slots had it.
func (c *control) letGoAll(i int) (slots uint64) {
	for slot := range c.slots {
		if c.letGo(slot, i) {
			slots++
		}
	}
	return slots
}
