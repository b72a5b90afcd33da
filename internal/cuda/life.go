package cuda

import "sync"

// life is what every driver object has: it counts the calls under way, so that Close never pulls an object away under one.
// The object ends with Close, or with the last call that was under way then. Close never waits.
type life struct {
	mu     sync.Mutex
	uses   int
	closed bool
	end    func() error
}

// enter begins a use; false when the object is closed. Each true needs an exit.
func (l *life) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.uses++
	return true
}

func (l *life) exit() {
	l.mu.Lock()
	l.uses--
	last := l.closed && l.uses == 0
	l.mu.Unlock()
	if last {
		_ = l.end() // nobody is left to be told
	}
}

func (l *life) close() error {
	l.mu.Lock()
	now := !l.closed && l.uses == 0
	l.closed = true
	l.mu.Unlock()
	if now {
		return l.end()
	}
	return nil
}
