package lsl

import (
	"fmt"
	"sync"
	"sync/atomic"
)

const (
	firstSlots = 64
	batchBytes = 64 << 10 // most bytes that a reader takes, and writes to its socket, at once
	keepBytes  = 64 << 10 // a slot with more capacity than this is not kept for reuse
)

// journal holds the encoded samples which some reader has not taken yet. All readers share it: a sample is stored
// once, and each reader has a cursor. Sample numbers count from the start of the outlet.
type journal struct {
	maxSlots, maxBytes int

	mu     sync.Mutex
	slots  [][]byte // sample n is in slots[n % len(slots)]
	tail   int      // oldest sample held
	head   int      // number of the next sample
	bytes  int      // encoded bytes held
	subs   []*subscription
	ready  chan struct{} // closed while there are readers
	closed bool
}

// subscription is one reader's place in the journal. Its fields belong to the journal's mutex.
type subscription struct {
	cursor   int // next sample to take
	capacity int // most samples it may lag
	sent     int
	dropped  int
	wake     chan struct{} // holds a token while there may be samples to take, or the end
	ended    atomic.Bool   // the reader has left
}

// notify leaves a token.
func (s *subscription) notify() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// end tells whoever waits for samples that there is nobody to send them to.
func (s *subscription) end() {
	s.ended.Store(true)
	s.notify()
}

func newJournal(maxSlots, maxBytes int) *journal {
	return &journal{
		maxSlots: maxSlots, maxBytes: maxBytes,
		slots: make([][]byte, min(firstSlots, maxSlots)),
		ready: make(chan struct{}),
	}
}

// push stores a copy of an encoded sample for every reader; without readers it stores nothing. It never waits for one.
func (j *journal) push(sample []byte) error {
	if len(sample) > j.maxBytes {
		return fmt.Errorf("%w: %d bytes do not fit into the buffer of %d: raise BufferBytes", ErrTooLarge, len(sample), j.maxBytes)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return ErrClosed
	}
	if len(j.subs) == 0 {
		return nil
	}
	j.makeRoom(len(sample))
	slot := j.head % len(j.slots)
	j.slots[slot] = append(j.slots[slot][:0], sample...)
	j.bytes += len(sample)
	j.head++
	for _, s := range j.subs {
		s.skipTo(j.head - s.capacity)
		s.notify()
	}
	return nil
}

// makeRoom frees what every reader has taken, then grows, then drops the oldest samples.
func (j *journal) makeRoom(n int) {
	if !j.full(n) {
		return
	}
	for taken := j.slowest(); j.tail < taken; {
		j.discardOldest()
	}
	for j.tail < j.head && j.full(n) {
		if len(j.slots) < j.maxSlots && j.bytes+n <= j.maxBytes {
			j.grow()
			continue
		}
		j.discardOldest()
	}
	for _, s := range j.subs {
		s.skipTo(j.tail)
	}
}

func (j *journal) full(n int) bool { return j.head-j.tail == len(j.slots) || j.bytes+n > j.maxBytes }

func (j *journal) slowest() int {
	low := j.head
	for _, s := range j.subs {
		low = min(low, s.cursor)
	}
	return low
}

func (j *journal) discardOldest() {
	slot := j.tail % len(j.slots)
	j.bytes -= len(j.slots[slot])
	if cap(j.slots[slot]) > keepBytes {
		j.slots[slot] = nil
	}
	j.tail++
}

func (j *journal) grow() {
	larger := make([][]byte, min(2*len(j.slots), j.maxSlots))
	for n := j.tail; n < j.head; n++ {
		larger[n%len(larger)] = j.slots[n%len(j.slots)]
	}
	j.slots = larger
}

// skipTo drops the samples before n.
func (s *subscription) skipTo(n int) {
	if lost := n - s.cursor; lost > 0 {
		s.cursor, s.dropped = n, s.dropped+lost
	}
}

// take appends the reader's next samples to b, at most about batchBytes of them.
func (j *journal) take(s *subscription, b []byte) []byte {
	j.mu.Lock()
	defer j.mu.Unlock()
	for s.cursor < j.head {
		sample := j.slots[s.cursor%len(j.slots)]
		if len(b) > 0 && len(b)+len(sample) > batchBytes {
			break
		}
		b = append(b, sample...)
		s.cursor++
		s.sent++
	}
	return b
}
