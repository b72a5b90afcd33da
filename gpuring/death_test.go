package gpuring_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"time"

	"facetrack/gpuring"
	"facetrack/gpuring/ringtest"
)

func create(t *testing.T, o gpuring.Options) gpuring.Writer {
	t.Helper()
	w, err := gpuring.Create(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func publish(t *testing.T, w gpuring.Writer) gpuring.Ticket {
	t.Helper()
	ticket, err := publishPattern(w)
	if err != nil {
		t.Fatal(err)
	}
	return ticket
}

// holder starts a reader process that holds the newest n slots of a ring.
func holder(t *testing.T, w gpuring.Writer, f gpuring.Faults, n int) *child {
	t.Helper()
	c, d := spawn(t, f), w.Descriptor()
	c.must(command{Do: "attach", Descriptor: &d})
	var tickets []gpuring.Ticket
	for range n {
		tickets = append(tickets, publish(t, w))
	}
	if a := c.must(command{Do: "hold", Tickets: tickets}); a.Torn {
		t.Fatal("a fresh frame is torn")
	}
	return c
}

// within runs a measured action until one run keeps to the limit: a loaded machine may make a single one late,
// a broken mechanism makes all of them late.
func within(limit time.Duration, run func() time.Duration) (took time.Duration, ok bool) {
	const runs = 3
	for range runs {
		if took = run(); took <= limit {
			return took, true
		}
	}
	return took, false
}

// slotsBack kills a process that holds every slot, and returns how long Begin fails afterwards, at most limit.
func slotsBack(t *testing.T, limit time.Duration) time.Duration {
	t.Helper()
	w := create(t, options(t, small))
	c := holder(t, w, gpuring.Faults{}, small.Slots)
	if _, err := w.Begin(); !errors.Is(err, gpuring.ErrNoFreeSlot) {
		t.Fatalf("Begin on a full ring: %v", err)
	}
	start := time.Now()
	c.signal(syscall.SIGKILL)
	for time.Since(start) <= limit {
		if s := w.Stats(); s.Free == s.Slots {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return time.Since(start)
}

// TestKilledReader is the first half of invariant 3: no slot stays lost for more than 1 s.
func TestKilledReader(t *testing.T) {
	took, ok := within(time.Second, func() time.Duration { return slotsBack(t, time.Second) })
	if !ok {
		t.Errorf("slots of a killed reader were back after %v, want 1s at most", took)
	}
	t.Logf("slots back after %v", took)
}

func TestKilledReaderIsNoticed(t *testing.T) {
	t.Cleanup(gpuring.Inject(gpuring.Faults{NoReaper: true}))
	if took := slotsBack(t, time.Second); took <= time.Second {
		t.Errorf("slots came back after %v without a reaper", took)
	}
}

// reclaimedAs kills a reader beside another one, and returns how its slot was counted and what the other one found.
func reclaimedAs(t *testing.T) (dead, stalled uint64, other answer) {
	t.Helper()
	w := create(t, options(t, small))
	victim, witness := holder(t, w, gpuring.Faults{}, 1), holder(t, w, gpuring.Faults{}, 1)
	victim.signal(syscall.SIGKILL)
	ringtest.Wait(t, "the killed reader's slot is back", func() bool { return w.Stats().Held == 1 })
	for range 3 * small.Slots {
		publish(t, w)
	}
	s := w.Stats()
	return s.ReclaimedDead, s.ReclaimedStalled, witness.ask(command{Do: "check"})
}

func TestKilledReaderIsKnownDead(t *testing.T) {
	dead, stalled, other := reclaimedAs(t)
	if dead != 1 || stalled != 0 {
		t.Errorf("reclaimed %d dead, %d stalled; want 1, 0", dead, stalled)
	}
	if other.Err != "" || other.Torn {
		t.Errorf("the other reader found %+v", other)
	}
}

func TestKilledReaderIsKnownDeadIsNoticed(t *testing.T) {
	t.Cleanup(gpuring.Inject(gpuring.Faults{DeafToDeath: true}))
	if dead, stalled, _ := reclaimedAs(t); dead != 0 || stalled != 1 {
		t.Errorf("reclaimed %d dead, %d stalled without death detection; want 0, 1", dead, stalled)
	}
}

// TestReaderKilledAnywhere kills readers while they attach, lease and leave: nothing of them stays.
func TestReaderKilledAnywhere(t *testing.T) {
	w := create(t, options(t, small))
	d := w.Descriptor()
	tickets := []gpuring.Ticket{publish(t, w), publish(t, w), publish(t, w)}
	for range 12 {
		c := spawn(t, gpuring.Faults{})
		c.must(command{Do: "grab", Descriptor: &d, Tickets: tickets})
		time.Sleep(time.Duration(rand.IntN(20_000)) * time.Microsecond)
		c.signal(syscall.SIGKILL)
	}
	ringtest.Wait(t, "no reader and no held slot is left", func() bool {
		s := w.Stats()
		return len(s.Readers) == 0 && s.Held == 0
	})
	for range 2 * small.Slots {
		publish(t, w)
	}
}

// fullRing lets a stopped process hold every slot and returns what Begin answers.
func fullRing(t *testing.T) (counted uint64, err error) {
	t.Helper()
	w := create(t, options(t, small))
	c := holder(t, w, gpuring.Faults{}, small.Slots)
	c.signal(syscall.SIGSTOP)
	claim, err := w.Begin() // would hang the test if it waited for the reader
	if err == nil {
		claim.Abort()
	}
	return w.Stats().NoFreeSlot, err
}

// TestWriterNeverWaits is invariant 2.
func TestWriterNeverWaits(t *testing.T) {
	if counted, err := fullRing(t); !errors.Is(err, gpuring.ErrNoFreeSlot) || counted != 1 {
		t.Errorf("Begin on a full ring: %v, %d counted; want ErrNoFreeSlot, 1", err, counted)
	}
}

func TestWriterNeverWaitsIsNoticed(t *testing.T) {
	t.Cleanup(gpuring.Inject(gpuring.Faults{IgnoreHolders: true}))
	if counted, err := fullRing(t); err != nil || counted != 0 {
		t.Errorf("without regard for holders Begin answers %v, %d counted; want success, 0", err, counted)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, entry := range entries {
		list = append(list, entry.Name())
	}
	return list
}
