package ipc

import "time"

// lastFrames is how long after a renewal frames of the ring before may come: capture closes it about then.
const lastFrames = 2 * time.Second

// to is the attachment to a ring, nil when there is none. The caller holds mu.
func (l *Link) to(ring string) *attachment {
	for _, a := range []*attachment{l.now, l.old} {
		if a != nil && a.ring == ring {
			return a
		}
	}
	return nil
}

// keep has the attachment before the next one stay until a frame of the next ring comes, or none of its own can come any more. It
// returns the one to retire instead, if any. The caller holds mu.
func (l *Link) keep(before, next *attachment) (retire *attachment) {
	if before == nil {
		return nil
	}
	if before.ring == next.ring {
		return before
	}
	retire, l.old = l.old, before
	time.AfterFunc(lastFrames, func() { l.forget(before) })
	return retire
}

// arrived notes that a frame was leased of a's ring: if that is the latest, no frame of the ring before comes any more.
func (l *Link) arrived(a *attachment) {
	l.mu.Lock()
	old := l.old
	latest := l.now == a
	l.mu.Unlock()
	if latest && old != nil {
		l.forget(old)
	}
}

// forget retires the attachment to the ring before.
func (l *Link) forget(old *attachment) {
	l.mu.Lock()
	mine := l.old == old
	if mine {
		l.old = nil
	}
	l.mu.Unlock()
	if mine {
		old.retire()
	}
}
