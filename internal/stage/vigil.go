package stage

import "sync"

// Vigil knows which pieces of work have begun and not ended, so that a process whose work stands still can be told from one that
// has nothing to do. The zero value is ready, and a nil one notes nothing.
type Vigil struct {
	mu   sync.Mutex
	next uint64
	open map[uint64]int // looks that found it
}

// Begin notes that a piece of work begins; ended that it has ended. What waits for others, as for a camera's next frame, is none.
func (v *Vigil) Begin() (ended func()) {
	if v == nil {
		return func() {}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.open == nil {
		v.open = map[uint64]int{}
	}
	v.next++
	id := v.next
	v.open[id] = 0
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.open, id)
	}
}

// Look returns how many looks, this one included, have found the same piece of work. It does not go by time: a process that was
// stopped itself has done nothing wrong.
func (v *Vigil) Look() (looks int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for id := range v.open {
		v.open[id]++
		looks = max(looks, v.open[id])
	}
	return looks
}
