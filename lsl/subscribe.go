package lsl

import "slices"

// subscribe adds a reader that may lag by at most the given number of samples.
func (j *journal) subscribe(capacity int) (*subscription, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil, ErrClosed
	}
	if len(j.subs) == 0 {
		j.drain()
		close(j.ready)
	}
	s := &subscription{cursor: j.head, capacity: min(capacity, j.maxSlots), wake: make(chan struct{}, 1)}
	j.subs = append(j.subs, s)
	return s, nil
}

func (j *journal) unsubscribe(s *subscription) {
	j.mu.Lock()
	defer j.mu.Unlock()
	i := slices.Index(j.subs, s)
	if i < 0 {
		return
	}
	j.subs = slices.Delete(j.subs, i, i+1)
	if len(j.subs) == 0 {
		j.drain()
		j.ready = make(chan struct{})
	}
}

// drain forgets every sample held and the memory that a slow reader made the journal grow to.
func (j *journal) drain() {
	j.slots = make([][]byte, min(firstSlots, j.maxSlots))
	j.tail, j.bytes = j.head, 0
}

func (j *journal) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
}

func (j *journal) readers() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.subs)
}

// readyChan returns a channel that is closed while there are readers.
func (j *journal) readyChan() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.ready
}

// lag returns how many samples wait for the reader, how many it was sent and how many it lost.
func (j *journal) lag(s *subscription) (queued, sent, dropped int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.head - s.cursor, s.sent, s.dropped
}
