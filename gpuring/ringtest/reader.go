package ringtest

import (
	"errors"
	"fmt"
	"testing"

	"facetrack/gpuring"
)

func isAny(err error, wants ...error) bool {
	for _, want := range wants {
		if errors.Is(err, want) {
			return true
		}
	}
	return false
}

func testTickets(t *testing.T, f Factory) {
	r := newRig(t, f, 3)
	reader := r.reader("reader")
	good := r.publish()
	for name, change := range map[string]func(*gpuring.Ticket){
		"other ring":             func(t *gpuring.Ticket) { t.RingID = "lab/cam1/1" },
		"no ring":                func(t *gpuring.Ticket) { t.RingID = "" },
		"negative slot":          func(t *gpuring.Ticket) { t.Slot = -1 },
		"slot past the end":      func(t *gpuring.Ticket) { t.Slot = 3 },
		"slot never written":     func(t *gpuring.Ticket) { t.Slot = 2 },
		"slot never written, 0":  func(t *gpuring.Ticket) { t.Slot, t.Generation = 2, 0 },
		"generation to come":     func(t *gpuring.Ticket) { t.Generation += 2 },
		"generation while wrote": func(t *gpuring.Ticket) { t.Generation-- },
		"huge generation":        func(t *gpuring.Ticket) { t.Generation += 1 << 40 },
		"other frame":            func(t *gpuring.Ticket) { t.Seq++ },
	} {
		ticket := good
		change(&ticket)
		if l, err := reader.Lease(ticket); !errors.Is(err, gpuring.ErrStale) {
			t.Errorf("%s: lease %v, error %v; want ErrStale", name, l, err)
		}
		r.slots(0, 3) // a refused ticket leaves nothing behind
	}
	if late := r.w.Stats().TooLate; late != 0 {
		t.Errorf("%d tickets that never were count as too late", late)
	}
	claim := r.begin()
	r.refused(reader, gpuring.Ticket{RingID: good.RingID, Slot: 1, Generation: 1, Seq: 1}, gpuring.ErrStale) // being written
	claim.Abort()
	r.is(r.lease(reader, good).Release(), nil)
}

// testRingReplaced: tickets of a ring that was closed are refused by its successor, same slots and numbers or not.
func testRingReplaced(t *testing.T, f Factory) {
	r := newRig(t, f, 2)
	old := r.publish()
	before := r.w
	r.is(r.w.Close(), nil)
	r.create()
	ticket := r.publish()
	if before.ID() == r.w.ID() || before.Generation() >= r.w.Generation() {
		t.Errorf("ring %s was followed by %s", before.ID(), r.w.ID())
	}
	if ticket.Slot != old.Slot || ticket.Generation != old.Generation || ticket.Seq != old.Seq {
		t.Fatalf("the rings differ more than this test needs: %+v, %+v", old, ticket)
	}
	r.refused(r.reader("reader"), old, gpuring.ErrStale)
}

func testLeases(t *testing.T, f Factory) {
	r := newRig(t, f, 2)
	reader := r.reader("reader")
	ticket := r.publish()
	lease := r.lease(reader, ticket)
	r.slots(1, 1)
	r.whole(lease, ticket.Seq)
	r.is(lease.Valid(), nil)
	other := r.lease(reader, r.publish())
	r.is(lease.Release(), nil)
	r.is(lease.Valid(), gpuring.ErrReleased)
	r.is(lease.Release(), nil) // the first answer again
	r.slots(1, 1)
	for range 3 { // a second Release must not give back a later lease of the same slot
		r.is(other.Release(), nil)
		other = r.lease(reader, r.publish())
		r.is(lease.Release(), nil)
		r.slots(1, 1)
	}
	r.is(other.Release(), nil)
	r.slots(0, 2)
}

func testSharedSlot(t *testing.T, f Factory) {
	r := newRig(t, f, 2)
	a, b := r.reader("a"), r.reader("b")
	ticket := r.publish()
	leases := []gpuring.Lease{r.lease(a, ticket), r.lease(b, ticket), r.lease(a, ticket)}
	for i, lease := range leases {
		r.slots(1, 1)
		for range 3 { // the other slot is rewritten, this one never
			if other := r.publish(); other.Slot == ticket.Slot {
				t.Fatalf("slot overwritten with %d leases left", len(leases)-i)
			}
		}
		r.whole(lease, ticket.Seq)
		r.is(lease.Release(), nil)
	}
	r.slots(0, 2)
	r.publish()
	r.refused(a, ticket, gpuring.ErrStale)
	if late := r.w.Stats().TooLate; late != 1 {
		t.Errorf("%d leases count as too late, want 1", late)
	}
}

func testReaderClose(t *testing.T, f Factory) {
	r := newRig(t, f, 2)
	reader, other := r.reader("reader"), r.reader("other")
	tickets := []gpuring.Ticket{r.publish(), r.publish()}
	lease := r.lease(reader, tickets[0])
	done := r.lease(reader, tickets[1])
	kept := r.lease(other, tickets[1])
	r.is(done.Release(), nil)
	r.is(reader.Close(), nil)
	r.is(reader.Close(), nil)
	r.slots(1, 1)
	r.is(lease.Valid(), gpuring.ErrClosed)
	r.whole(lease, tickets[0].Seq) // still mapped, not yet overwritten
	r.is(lease.Release(), gpuring.ErrClosed)
	r.is(lease.Release(), gpuring.ErrClosed)
	r.refused(reader, tickets[1], gpuring.ErrClosed)
	r.is(kept.Valid(), nil)
	r.is(kept.Release(), nil)
	if s := r.w.Stats(); s.ReclaimedDead+s.ReclaimedStalled != 0 {
		t.Errorf("a reader that closed counts as reclaimed: %+v", s)
	}
}

func testReadersFull(t *testing.T, f Factory) {
	r := newRig(t, f, 2)
	ticket := r.publish()
	var readers []gpuring.Reader
	var leases []gpuring.Lease
	for i := range gpuring.MaxReaders {
		readers = append(readers, r.reader(fmt.Sprint("reader ", i)))
		leases = append(leases, r.lease(readers[i], ticket))
	}
	_, err := f.Open(r.w.Descriptor(), "one too many")
	r.is(err, gpuring.ErrReadersFull)
	for i, lease := range leases {
		if infos := r.w.Readers(); infos[i].Held != 1 {
			t.Errorf("%+v holds %d slots, want 1", infos[i], infos[i].Held)
		}
		r.is(lease.Release(), nil)
		r.slots(min(1, len(leases)-1-i), 2-min(1, len(leases)-1-i))
	}
	r.is(readers[7].Close(), nil)
	again := r.reader("in its place")
	r.is(r.lease(again, ticket).Release(), nil)
}

func testReaders(t *testing.T, f Factory) {
	r := newRig(t, f, 3)
	if got := r.w.Readers(); len(got) != 0 {
		t.Errorf("readers of a new ring: %+v", got)
	}
	long := "a name of more than sixty-four bytes, which is cut inside a letter äöü"
	a, b := r.reader("detect"), r.reader(long)
	leases := []gpuring.Lease{r.lease(a, r.publish()), r.lease(a, r.publish())}
	got := r.w.Readers()
	if len(got) != 2 || got[0].Identity != "detect" || got[0].Held != 2 || got[1].Held != 0 || got[0].PID == 0 || got[0].Revoked {
		t.Errorf("readers %+v", got)
	}
	if want := "a name of more than sixty-four bytes, which is cut inside a lett"; got[1].Identity != want {
		t.Errorf("identity %q, want %q", got[1].Identity, want)
	}
	r.is(b.Close(), nil)
	for _, lease := range leases {
		r.is(lease.Release(), nil)
	}
	if got := r.w.Stats().Readers; len(got) != 1 || got[0].Identity != "detect" || got[0].Held != 0 {
		t.Errorf("readers %+v", got)
	}
}

func testAttachLocal(t *testing.T, f Factory) {
	r := newRig(t, f, 2)
	local, err := r.w.AttachLocal("copy for host2")
	if err != nil {
		t.Fatal(err)
	}
	ticket := r.publish()
	lease := r.lease(local, ticket)
	r.whole(lease, ticket.Seq)
	r.slots(1, 1)
	if got := r.w.Readers(); len(got) != 1 || got[0].Identity != "copy for host2" {
		t.Errorf("readers %+v", got)
	}
	r.is(lease.Release(), nil)
	r.is(local.Close(), nil)
	r.slots(0, 2)
}
