package ipc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"facetrack/gpuring"
)

// ending is a channel whose leases end with the errors of a list, one each, then well.
type ending struct {
	channel
	errs []error
}

type endingLease struct {
	Lease
	err error
}

func (e *ending) lease(ctx context.Context, t gpuring.Ticket) (Lease, error) {
	l, err := e.channel.lease(ctx, t)
	if err != nil || len(e.errs) == 0 {
		return l, err
	}
	l = endingLease{l, e.errs[0]}
	e.errs = e.errs[1:]
	return l, nil
}

func (l endingLease) Release() error { return errors.Join(l.err, l.Lease.Release()) }

// attachedTo makes a link whose first attachment ends its leases with errs.
func attachedTo(t *testing.T, errs ...error) (*Link, Frame) {
	t.Helper()
	l, f := startPair(t, plainWriter, LinkOptions{})
	if err := l.Attach(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	l.now.channel = &ending{channel: l.now.channel, errs: errs}
	return l, f
}

// leaseAll leases f n times, one after the other, and returns the errors of the releases.
func leaseAll(t *testing.T, l *Link, f Frame, n int) []error {
	t.Helper()
	errs := make([]error, n)
	for i := range errs {
		lease, err := l.Lease(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		errs[i] = lease.Release()
	}
	return errs
}

func TestOneTornFrameIsNoBreak(t *testing.T) {
	torn := fmt.Errorf("slot 1: %w", gpuring.ErrTorn)
	l, f := attachedTo(t, torn, torn, nil, torn, torn)
	for i, err := range leaseAll(t, l, f, 6) {
		if want := i != 2 && i != 5; errors.Is(err, gpuring.ErrTorn) != want {
			t.Errorf("release %d: %v", i, err)
		}
	}
	if s := l.Status(); s.Transport != SHM || s.Reattaches != 0 {
		t.Errorf("status %+v", s)
	}
}

func TestTornAgainAndAgainBreaksTheLink(t *testing.T) {
	torn := fmt.Errorf("slot 1: %w", gpuring.ErrTorn)
	l, f := attachedTo(t, torn, torn, torn)
	var told []LinkStatus
	l.opts.Changed = func(s LinkStatus) bool { told = append(told, s); return true }
	leaseAll(t, l, f, 4)
	if len(told) != 1 || told[0].Transport != Copy || told[0].Reattaches != 1 { // once the frames come in the other way
		t.Errorf("told %+v", told)
	}
	if s := l.Status(); s.Transport != Copy || s.Reattaches != 1 || !strings.Contains(s.Reason, "shm: broke on this ring: slot 1: ") {
		t.Errorf("status %+v", s)
	}
}

func TestFailingDeviceBreaksTheLink(t *testing.T) {
	l, f := attachedTo(t, gpuring.ErrDevice)
	if s := l.Status(); s.Transport != SHM {
		t.Fatalf("status %+v", s)
	}
	if err := leaseAll(t, l, f, 1)[0]; !errors.Is(err, gpuring.ErrDevice) {
		t.Error(err)
	}
	if s := l.Status(); s.Transport != "" || s.Sync != "" || s.GPU != "" || !strings.HasPrefix(s.Reason, "the link broke: ") {
		t.Errorf("status %+v", s)
	}
	leaseAll(t, l, f, 1)
	if s := l.Status(); s.Transport != Copy || s.Reattaches != 1 {
		t.Errorf("status %+v", s)
	}
}

// A revoked lease says nothing about its transport.
func TestRevokedLeaseIsNoBreak(t *testing.T) {
	l, f := attachedTo(t, gpuring.ErrRevoked)
	leaseAll(t, l, f, 2)
	if s := l.Status(); s.Transport != SHM || s.Reattaches != 0 {
		t.Errorf("status %+v", s)
	}
}

// blind is a channel whose pixels do not reach host memory.
type blind struct{ channel }

type blindLease struct{ Lease }

func (b blind) lease(ctx context.Context, t gpuring.Ticket) (Lease, error) {
	l, err := b.channel.lease(ctx, t)
	return blindLease{l}, err
}

func (blindLease) Host() ([]byte, error) { return nil, fmt.Errorf("%w: download", gpuring.ErrDevice) }

func TestFailingDownloadBreaksTheLink(t *testing.T) {
	l, f := startPair(t, plainWriter, LinkOptions{})
	if err := l.Attach(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	l.now.channel = blind{l.now.channel}
	first, err := l.Lease(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Host(); !errors.Is(err, gpuring.ErrDevice) {
		t.Errorf("download: %v", err)
	}
	second, err := l.Lease(t.Context(), f) // the same frame again, while the first lease keeps its slot
	if err != nil {
		t.Fatal(err)
	}
	if pixels, err := second.Host(); err != nil || len(pixels) != 8*4*3 {
		t.Errorf("%d bytes, %v", len(pixels), err)
	}
	if err := errors.Join(first.Release(), second.Release()); err != nil {
		t.Error(err)
	}
	if s := l.Status(); s.Transport != Copy || !strings.Contains(s.Reason, "shm: broke on this ring: ") {
		t.Errorf("status %+v", s)
	}
}
