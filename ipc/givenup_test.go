package ipc_test

import (
	"context"
	"errors"
	"testing"

	"github.com/nats-io/nats.go"

	"facetrack/gpuring"
	"facetrack/ipc"
)

// What this process gives up by itself is no failure of capture, and is not shown as one.
func TestAttachThatIsGivenUp(t *testing.T) {
	s := startNATS(t, small)
	nc := connect(t, s.ClientURL())
	l := newLink(t, connect(t, s.ClientURL()), ipc.LinkOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	sub, err := nc.Subscribe("face.lab.cam.ring", func(*nats.Msg) { cancel() })
	if err := errors.Join(err, nc.Flush()); err != nil {
		t.Fatal(err)
	}
	before := l.Status().Reason
	if err := l.Attach(ctx, ""); !errors.Is(err, context.Canceled) || errors.Is(err, ipc.ErrAttach) {
		t.Errorf("cancelled: %v", err)
	}
	if got := l.Status().Reason; got != before {
		t.Errorf("reason %q", got)
	}
	closing := func(m *nats.Msg) { _ = errors.Join(l.Close(), m.Respond([]byte("no reply"))) }
	_, err = nc.Subscribe("face.lab.cam.ring", closing)
	if err := errors.Join(err, sub.Unsubscribe(), nc.Flush()); err != nil {
		t.Fatal(err)
	}
	if err := l.Attach(t.Context(), ""); !errors.Is(err, gpuring.ErrClosed) || errors.Is(err, ipc.ErrAttach) || errors.Is(err, ipc.ErrNoCapture) {
		t.Errorf("closed: %v", err)
	}
}

// Pixels of a lease that was given back are the caller's error: the link stays as it is.
func TestHostAfterRelease(t *testing.T) {
	overEach(t, func(t *testing.T, want ipc.Transport, o ipc.LinkOptions) {
		s := startNATS(t, small)
		c := startCapture(t, connect(t, s.ClientURL()), t.TempDir(), ipc.ServerOptions{})
		hostAfterRelease(t, newLink(t, connect(t, s.ClientURL()), o), want, c.publish())
	})
}

func hostAfterRelease(t *testing.T, l *ipc.Link, want ipc.Transport, f ipc.Frame) {
	t.Helper()
	for _, early := range []bool{false, true} { // whether the pixels were asked for in time, too
		got, err := l.Lease(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		if early {
			_, err = got.Host()
		}
		if err := errors.Join(err, got.Release()); err != nil {
			t.Fatal(err)
		}
		if pixels, err := got.Host(); pixels != nil || !errors.Is(err, gpuring.ErrReleased) || errors.Is(err, gpuring.ErrDevice) {
			t.Errorf("%d bytes, %v", len(pixels), err)
		}
	}
	if s := l.Status(); s.Transport != want || s.Reattaches != 0 {
		t.Errorf("status %+v", s)
	}
}
