package ipc

import (
	"fmt"
	"time"

	"facetrack/gpuring"
)

// Attempt is a transport that could not be used, and why.
type Attempt struct {
	Transport Transport `json:"transport"`
	Reason    string    `json:"reason"`
}

// LinkStatus says how a link reaches its ring.
type LinkStatus struct {
	Camera     string    `json:"camera"`
	Transport  Transport `json:"transport"` // empty while there is none
	Reason     string    `json:"reason"`    // why this transport and no faster one, or why none
	Attempts   []Attempt `json:"attempts"`  // the faster transports, at the last attach
	RingID     string    `json:"ring"`
	Since      time.Time `json:"since"`      // of the last attach
	Reattaches int       `json:"reattaches"` // attaches after the first
}

// Status returns the state of the link.
func (l *Link) Status() LinkStatus {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.status
	s.Attempts = append([]Attempt{}, s.Attempts...)
	return s
}

// adopt makes a the attachment of the link and retires the one before.
func (l *Link) adopt(a *attachment, attempts []Attempt) error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		a.retire()
		return fmt.Errorf("%w: this link was closed", gpuring.ErrClosed)
	}
	before := l.now
	l.now = a
	s := &l.status
	if !s.Since.IsZero() {
		s.Reattaches++
	}
	s.Transport, s.RingID, s.Attempts, s.Since = a.transport, a.ring, attempts, time.Now()
	if s.Reason = reasons(attempts); s.Reason == "" {
		s.Reason = "the fastest transport"
	}
	reason := s.Reason
	l.mu.Unlock()
	if before != nil {
		before.retire()
	}
	l.log.Info("attached", "ring", a.ring, "transport", a.transport, "reason", reason)
	return nil
}

// failed notes why there is no attachment; one that still works is kept.
func (l *Link) failed(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now == nil && !l.closed {
		l.status.Transport, l.status.Reason = "", err.Error()
	}
}
