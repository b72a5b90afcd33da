package gpuring_test

import (
	"syscall"
	"testing"
	"time"

	"facetrack/gpuring"
	"facetrack/gpuring/ringtest"
)

var small = gpuring.Geometry{Width: 320, Height: 240, Format: gpuring.BGR, Slots: 4}

func options(t *testing.T, g gpuring.Geometry) gpuring.Options {
	t.Helper()
	return gpuring.Options{Dir: ringtest.Dir(t), Rig: "lab", Camera: "cam0", Geometry: g}
}

// lapping is a writer process that overtakes its reader processes.
type lapping struct {
	t       *testing.T
	writer  *child
	readers []*child
	latest  []tally // of each reader
	revoked int     // readers that are revoked now, as the writer sees it
	damaged bool    // the writer found its control block damaged
}

func newLapping(t *testing.T, writer, reader gpuring.Faults, readers, slots int) *lapping {
	t.Helper()
	l := &lapping{t: t, writer: spawn(t, writer), latest: make([]tally, readers)}
	o := options(t, small)
	o.Geometry.Slots = slots
	d := l.writer.must(command{Do: "create", Options: &o}).Descriptor
	for range readers {
		r := spawn(t, reader)
		r.must(command{Do: "attach", Descriptor: d})
		r.send(command{Do: "watch"})
		l.readers = append(l.readers, r)
	}
	l.writer.send(command{Do: "stream"})
	return l
}

// until relays tickets from the writer to the readers that run, until done is satisfied. A reader that does not
// keep up misses tickets, as with NATS.
func (l *lapping) until(what string, done func() bool) {
	l.t.Helper()
	deadline := time.After(time.Minute)
	for !done() {
		select {
		case a, ok := <-l.writer.answers:
			if !ok {
				l.t.Fatal("the writer ended")
			}
			l.fromWriter(a)
		case <-time.After(5 * time.Millisecond): // the writer waits for readers
		case <-deadline:
			l.t.Fatalf("after a minute still not: %s; readers: %+v", what, l.latest)
		}
		for i, r := range l.readers {
			select {
			case a := <-r.answers:
				l.fromReader(i, a)
			default:
			}
		}
	}
}

func (l *lapping) fromWriter(a answer) {
	switch {
	case a.Err != "":
		l.damaged = true
	case a.Stats != nil:
		l.revoked = 0
		for _, r := range a.Stats.Readers {
			if r.Revoked {
				l.revoked++
			}
		}
	case a.Ticket != nil:
		for _, r := range l.readers {
			if !r.stopped {
				r.offer(*a.Ticket)
			}
		}
	}
}

func (l *lapping) fromReader(i int, a answer) {
	l.t.Helper()
	if a.Tally == nil {
		l.t.Fatalf("reader %d: %s", i, a.Err)
	}
	l.latest[i] = *a.Tally
}

func (l *lapping) violations() (n int) {
	for _, sum := range l.latest {
		n += sum.Violations
	}
	return n
}

// TestTornFrames is invariant 1: readers that a writer overtakes, one of them stopped and continued, never take a
// torn or overwritten frame for good.
func TestTornFrames(t *testing.T) {
	const readers, frames, stale, stops = 3, 100, 10, 2
	l := newLapping(t, gpuring.Faults{}, gpuring.Faults{}, readers, small.Slots)
	for n := 1; n <= stops; n++ {
		l.until("reader 0 works", func() bool { return l.latest[0].Frames >= n*10 })
		l.readers[0].stopped = true
		l.readers[0].signal(syscall.SIGSTOP)
		l.until("the stopped reader is revoked", func() bool { return l.revoked > 0 })
		l.readers[0].signal(syscall.SIGCONT)
		l.readers[0].stopped = false
		l.until("the woken reader knows", func() bool { return l.latest[0].Revoked >= n && l.revoked == 0 })
	}
	l.until("all readers have read and refused enough", func() bool {
		for _, sum := range l.latest {
			if sum.Frames < frames || sum.Stale < stale {
				return false
			}
		}
		return true
	})
	if l.violations() > 0 || l.damaged {
		t.Errorf("torn frames were called valid: %+v (damaged: %v)", l.latest, l.damaged)
	}
	t.Logf("readers: %+v", l.latest)
}

// TestTornFramesAreNoticed proves that the test above can fail: without either mechanism, torn frames are seen.
func TestTornFramesAreNoticed(t *testing.T) {
	t.Run("no generation check", func(t *testing.T) {
		l := newLapping(t, gpuring.Faults{}, gpuring.Faults{IgnoreGeneration: true}, 1, small.Slots)
		// The reader may also hit the slot that is being written, which the writer cannot miss.
		l.until("a stale frame is taken for good", func() bool { return l.violations() > 0 || l.damaged })
	})
	t.Run("no regard for holders", func(t *testing.T) {
		l := newLapping(t, gpuring.Faults{IgnoreHolders: true}, gpuring.Faults{}, 1, 2)
		l.until("a frame is overwritten under its reader", func() bool { return l.violations() > 0 })
	})
}

// staleTicket gives a reader process the ticket of a frame that was overwritten, and returns what it makes of it.
func staleTicket(t *testing.T, reader gpuring.Faults) answer {
	t.Helper()
	w := create(t, options(t, small))
	c := holder(t, w, reader, 0)
	old := publish(t, w)
	for range small.Slots {
		publish(t, w)
	}
	return c.ask(command{Do: "hold", Tickets: []gpuring.Ticket{old}})
}

func TestStaleTicket(t *testing.T) {
	if a := staleTicket(t, gpuring.Faults{}); a.Err != "stale" {
		t.Errorf("lease of an overwritten frame: %+v, want ErrStale", a)
	}
}

func TestStaleTicketIsNoticed(t *testing.T) {
	if a := staleTicket(t, gpuring.Faults{IgnoreGeneration: true}); a.Err != "" || !a.Torn {
		t.Errorf("without the generation check: %+v, want another frame's pixels called valid", a)
	}
}
