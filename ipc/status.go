package ipc

import (
	"context"
	"fmt"
	"time"
)

// Attempt is a transport that could not be used, and why.
type Attempt struct {
	Transport Transport `json:"transport"`
	Reason    string    `json:"reason"`
}

// LinkStatus says how a link reaches its ring.
type LinkStatus struct {
	Camera     string    `json:"camera"`
	Transport  Transport `json:"transport"`          // empty while there is none
	Reason     string    `json:"reason"`             // why this transport and no faster one, or why none
	Attempts   []Attempt `json:"attempts"`           // the faster transports, at the last attach
	Sync       string    `json:"sync,omitempty"`     // device memory: how uploads are waited for, "events" or "memops"
	GPU        string    `json:"gpu_uuid,omitempty"` // device memory: the GPU that reads it
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

// Reach is how the frames of a ring reach this process, and their size.
type Reach struct {
	Transport  Transport
	GPU        string // device memory: the UUID of the GPU that reads it
	FrameBytes int
}

// Reaches tells how the link reaches a ring; false while it is not attached to that one.
func (l *Link) Reaches(ring string) (Reach, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.to(ring)
	if a == nil {
		return Reach{}, false
	}
	return Reach{Transport: a.transport, GPU: a.gpu, FrameBytes: a.frameBytes}, true
}

// adopt makes a the attachment of the link. The one before stays for the last frames of its ring, if it is to another.
func (l *Link) adopt(a *attachment, attempts []Attempt) error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		a.retire()
		return errLinkClosed
	}
	before := l.now
	older := l.keep(before, a)
	l.now = a
	s := &l.status
	if !s.Since.IsZero() {
		s.Reattaches++
	}
	s.Transport, s.Sync, s.GPU = a.transport, string(a.sync), a.gpu
	s.RingID, s.Attempts, s.Since = a.ring, attempts, time.Now()
	if s.Reason = reasons(attempts); s.Reason == "" {
		s.Reason = a.praise()
	}
	reason := s.Reason
	l.tell()
	l.mu.Unlock()
	if older != nil {
		older.retire()
	}
	l.log.Info("attached", "ring", a.ring, "transport", a.transport, "reason", reason)
	return nil
}

// detach notes that there is no attachment, and why.
func (s *LinkStatus) detach(reason string) {
	s.Transport, s.Sync, s.GPU, s.Reason = "", "", "", reason
}

// failed notes why there is no attachment; one that still works is kept. An attempt that this process gave up says nothing
// about capture, so that its error is another one.
func (l *Link) failed(ctx context.Context, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return errLinkClosed
	case ctx.Err() != nil:
		return fmt.Errorf("ipc: attach to %s: %w: %s", l.camera, ctx.Err(), err.Error())
	case l.now == nil:
		l.status.detach(err.Error())
		l.tell()
	}
	return err
}

// tell calls Changed if the transport is another one than it was told. The caller holds mu.
func (l *Link) tell() {
	if l.status.Transport == l.told || l.opts.Changed == nil {
		return
	}
	if l.opts.Changed(l.status) {
		l.told = l.status.Transport
	}
}
