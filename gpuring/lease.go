package gpuring

import (
	"errors"
	"fmt"
)

type lease struct {
	r    *ringReader
	slot int
	view View
	done bool  // guarded by r.mu
	err  error // what Release answered
}

func (l *lease) View() View { return l.view }

func (l *lease) Valid() error {
	l.r.mu.Lock()
	defer l.r.mu.Unlock()
	if l.done {
		return fmt.Errorf("%w: the lease of slot %d has ended", ErrReleased, l.slot)
	}
	return l.check()
}

func (l *lease) check() error {
	switch {
	case l.r.closed:
		return fmt.Errorf("%w: this reader of %s was closed under its lease", ErrClosed, l.r.id)
	case !l.r.c.live(l.r.index, l.r.epoch):
		return fmt.Errorf("%w: reader of %s: discard what was computed from slot %d", ErrRevoked, l.r.id, l.slot)
	}
	return nil
}

// settle makes the last check. A stream's proof counts only if the slot was still held when it was looked at.
func (l *lease) settle() error {
	var torn error
	if l.view.Fence != nil {
		torn = l.r.fences.settle(l.view.Fence)
	}
	if err := l.check(); err != nil {
		return err
	}
	return torn
}

func (l *lease) Release() error {
	l.r.mu.Lock()
	defer l.r.mu.Unlock()
	if l.done {
		return l.err
	}
	l.done, l.err = true, l.settle()
	l.r.leases--
	if !l.r.closed {
		l.r.drop(l.slot)
	} else if l.r.leases == 0 {
		if l.r.device != nil {
			l.r.pulse.stop()
		}
		l.err = errors.Join(l.err, l.r.end())
	}
	return l.err
}
