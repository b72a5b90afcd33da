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

func (l *lease) Release() error {
	l.r.mu.Lock()
	defer l.r.mu.Unlock()
	if l.done {
		return l.err
	}
	l.done, l.err = true, l.check()
	l.r.leases--
	if !l.r.closed {
		l.r.drop(l.slot)
	} else if l.r.leases == 0 {
		l.err = errors.Join(l.err, l.r.pix.Close())
	}
	return l.err
}
