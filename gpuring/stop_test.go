package gpuring_test

import (
	"syscall"
	"testing"

	"facetrack/gpuring"
	"facetrack/gpuring/ringtest"
)

// stopped lets a reader process be stopped while it holds a frame and works on it, has the frame overwritten, wakes
// the reader, and returns what it finds at the end of its work.
func stopped(t *testing.T, reader gpuring.Faults) (w gpuring.Writer, c *child, checked, released answer) {
	t.Helper()
	w = create(t, options(t, small))
	c = holder(t, w, reader, 1)
	witness := holder(t, w, gpuring.Faults{}, 1)
	c.signal(syscall.SIGSTOP)
	ringtest.Wait(t, "the stopped reader's slot is back", func() bool { return w.Stats().ReclaimedStalled == 1 })
	for range 3 * small.Slots {
		publish(t, w)
	}
	c.signal(syscall.SIGCONT)
	checked, released = c.ask(command{Do: "check"}), c.ask(command{Do: "release"})
	if a := witness.ask(command{Do: "check"}); a.Err != "" || a.Torn {
		t.Errorf("the other reader found %+v", a)
	}
	if s := w.Stats(); s.Held != 1 {
		t.Errorf("%d slots are held, want the other reader's one", s.Held)
	}
	return w, c, checked, released
}

func TestStoppedReader(t *testing.T) {
	w, c, checked, released := stopped(t, gpuring.Faults{})
	if !checked.Torn || checked.Err != "revoked" || released.Err != "revoked" {
		t.Errorf("the woken reader found %+v at Valid, %+v at Release; want overwritten pixels and ErrRevoked", checked, released)
	}
	next := publish(t, w)
	if a := c.ask(command{Do: "hold", Tickets: []gpuring.Ticket{next}}); a.Err != "revoked" {
		t.Errorf("the revoked reader's next lease: %+v", a)
	}
	d := w.Descriptor()
	c.must(command{Do: "close"})
	c.must(command{Do: "attach", Descriptor: &d})
	if a := c.must(command{Do: "hold", Tickets: []gpuring.Ticket{next}}); a.Torn {
		t.Error("torn after attaching anew")
	}
}

// TestStoppedReaderIsNoticed: a reader that believes in revoked leases takes an overwritten frame for good.
func TestStoppedReaderIsNoticed(t *testing.T) {
	_, _, checked, released := stopped(t, gpuring.Faults{IgnoreRevocation: true})
	if !checked.Torn || checked.Err != "" || released.Err != "" {
		t.Errorf("without the check the reader found %+v, %+v; want an overwritten frame called valid", checked, released)
	}
}
