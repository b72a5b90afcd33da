package ringtest

import (
	"testing"

	"facetrack/gpuring"
)

func testFormats(t *testing.T, f Factory) {
	for _, c := range []struct {
		geometry gpuring.Geometry
		bytes    int
	}{
		{gpuring.Geometry{Width: 641, Height: 3, Format: gpuring.BGR, Slots: 2}, 5769},
		{gpuring.Geometry{Width: 640, Height: 480, Format: gpuring.NV12, Slots: 3}, 460800},
		{gpuring.Geometry{Width: 1922, Height: 5, Format: gpuring.YUYV, Slots: 2}, 19220},
		{gpuring.Geometry{Width: 1, Height: 1, Format: gpuring.BGR, Slots: gpuring.MaxSlots}, 3},
	} {
		r := newRigOf(t, f, c.geometry)
		reader := r.reader("reader")
		if got := c.geometry.FrameBytes(); got != c.bytes {
			t.Errorf("%+v: %d bytes a frame, want %d", c.geometry, got, c.bytes)
		}
		leases := map[uint64]gpuring.Lease{}
		for range c.geometry.Slots {
			ticket := r.publish()
			leases[ticket.Seq] = r.lease(reader, ticket)
		}
		for seq, lease := range leases { // every slot filled: none reaches into another
			if v := lease.View(); (v.Host != nil) == (v.Device != 0) || v.Host != nil && len(v.Host) != c.bytes {
				t.Errorf("%+v: view with %d host bytes and device address %#x", c.geometry, len(v.Host), v.Device)
			}
			r.whole(lease, seq)
			r.is(lease.Release(), nil)
		}
	}
}

// testWrapPoints starts at every slot, and goes round twice: the last frames of a ring can be leased, those before cannot.
func testWrapPoints(t *testing.T, f Factory) {
	const slots = 5
	for start := range slots {
		r := newRig(t, f, slots)
		reader := r.reader("reader")
		var tickets []gpuring.Ticket
		for range start {
			tickets = append(tickets, r.publish())
		}
		for range 2*slots + 1 {
			ticket := r.publish()
			tickets = append(tickets, ticket)
			n := len(tickets)
			if want := (n - 1) % slots; ticket.Slot != want {
				t.Fatalf("start %d: frame %d is in slot %d, want %d, the one written longest ago", start, ticket.Seq, ticket.Slot, want)
			}
			for i, old := range tickets {
				if i < n-slots {
					r.refused(reader, old, gpuring.ErrStale)
					continue
				}
				lease := r.lease(reader, old)
				r.whole(lease, uint64(i))
				r.is(lease.Release(), nil)
			}
		}
	}
}

func testSequence(t *testing.T, f Factory) {
	r := newRig(t, f, 2)
	for want := range uint64(5) {
		if got := r.w.NextSeq(); got != want {
			t.Fatalf("NextSeq %d, want %d", got, want)
		}
	}
	if r.w.Position() != 0 {
		t.Errorf("position %d of a new ring", r.w.Position())
	}
	r.w.SetPosition(-7)
	if r.w.Position() != -7 {
		t.Errorf("position %d, want -7", r.w.Position())
	}
	ticket := r.publish()
	if s := r.w.Stats(); ticket.Seq != 5 || s.NextSeq != 6 || s.PublishedNext != 6 || s.Published != 1 {
		t.Errorf("frame %d, stats %+v", ticket.Seq, s)
	}
}

func testFullRing(t *testing.T, f Factory) {
	const slots = 4
	r := newRig(t, f, slots)
	reader := r.reader("reader")
	var leases []gpuring.Lease
	for range slots {
		leases = append(leases, r.lease(reader, r.publish()))
	}
	r.slots(slots, 0)
	for n := range uint64(3) {
		_, err := r.w.Begin()
		r.is(err, gpuring.ErrNoFreeSlot)
		if got := r.w.Stats().NoFreeSlot; got != n+1 {
			t.Errorf("%d frames counted without a slot, want %d", got, n+1)
		}
	}
	r.is(leases[2].Release(), nil)
	if ticket := r.publish(); ticket.Slot != 2 {
		t.Errorf("slot %d taken, only 2 is free", ticket.Slot)
	}
	for _, i := range []int{0, 1, 3} {
		r.whole(leases[i], uint64(i))
		r.is(leases[i].Release(), nil)
	}
}

func testClaims(t *testing.T, f Factory) {
	r := newRig(t, f, 3)
	a, b, c := r.begin(), r.begin(), r.begin()
	r.slots(0, 0)
	_, err := r.w.Begin()
	r.is(err, gpuring.ErrNoFreeSlot)
	var order []int
	for _, claim := range []gpuring.Claim{c, a, b} {
		ticket, err := claim.Publish(r.w.NextSeq())
		r.is(err, nil)
		order = append(order, ticket.Slot)
		_, err = claim.Publish(99)
		r.is(err, gpuring.ErrReleased)
		claim.Abort() // does nothing
	}
	for i, want := range order { // now in the order of publication, not of claiming
		if ticket := r.publish(); ticket.Slot != want {
			t.Errorf("slot %d taken at place %d, want %d", ticket.Slot, i, want)
		}
	}
	if s := r.w.Stats(); s.Published != 6 || s.Aborted != 0 {
		t.Errorf("published %d, aborted %d; want 6, 0", s.Published, s.Aborted)
	}
}

func testAbort(t *testing.T, f Factory) {
	r := newRig(t, f, 2)
	reader := r.reader("reader")
	first, second := r.publish(), r.publish()
	claim := r.begin() // overwrites first
	claim.Abort()
	claim.Abort()
	_, err := claim.Publish(2)
	r.is(err, gpuring.ErrReleased)
	r.refused(reader, first, gpuring.ErrStale)
	if third := r.publish(); third.Slot != first.Slot {
		t.Errorf("slot %d overwritten, although %d holds no frame", third.Slot, first.Slot)
	}
	lease := r.lease(reader, second)
	r.whole(lease, second.Seq)
	r.is(lease.Release(), nil)
	if got := r.w.Stats().Aborted; got != 1 {
		t.Errorf("aborted %d, want 1", got)
	}
}

func testWriterClose(t *testing.T, f Factory) {
	r := newRig(t, f, 3)
	reader := r.reader("reader")
	kept, old := r.publish(), r.publish()
	lease := r.lease(reader, kept)
	claim := r.begin()
	r.is(r.w.Close(), nil)
	r.is(r.w.Close(), nil)
	r.refused(reader, old, gpuring.ErrClosed)
	r.whole(lease, kept.Seq) // nobody can overwrite it any more
	r.is(lease.Valid(), nil)
	r.is(lease.Release(), nil)
	_, err := f.Open(r.w.Descriptor(), "late")
	if !isAny(err, gpuring.ErrClosed, gpuring.ErrNotShared) {
		t.Errorf("Open after Close: %v", err)
	}
	_, err = r.w.AttachLocal("late")
	r.is(err, gpuring.ErrClosed)
	_, err = r.w.Begin()
	r.is(err, gpuring.ErrClosed)
	r.is(f.Put(claim.View(), make([]byte, r.o.Geometry.FrameBytes())), nil) // an open claim's pixels stay
	_, err = claim.Publish(9)
	r.is(err, gpuring.ErrClosed)
	claim.Abort()
	if s := r.w.Stats(); s.Published != 2 || len(s.Readers) != 0 {
		t.Errorf("stats after Close: %+v", s)
	}
}

// testRetired: a ring that has a successor is read to its end, beside it.
func testRetired(t *testing.T, f Factory) {
	r := newRig(t, f, 3)
	reader := r.reader("reader")
	kept, waiting := r.publish(), r.publish()
	lease, claim := r.lease(reader, kept), r.begin()
	old := r.w
	r.is(old.Retire(), nil)
	r.is(old.Retire(), nil)
	_, err := old.Begin()
	r.is(err, gpuring.ErrClosed)
	if old.Ready() {
		t.Error("a retired ring is ready for a frame")
	}
	_, err = claim.Publish(9)
	r.is(err, gpuring.ErrClosed)
	_, err = f.Open(old.Descriptor(), "late")
	if !isAny(err, gpuring.ErrClosed, gpuring.ErrNotShared) {
		t.Errorf("Open after Retire: %v", err)
	}
	_, err = old.AttachLocal("late")
	r.is(err, gpuring.ErrClosed)

	r.create()
	next, second := r.publish(), r.reader("second")
	for ticket, from := range map[gpuring.Ticket]gpuring.Reader{waiting: reader, next: second} {
		l := r.lease(from, ticket)
		r.whole(l, ticket.Seq)
		r.is(l.Release(), nil)
	}
	r.refused(second, waiting, gpuring.ErrStale)
	r.is(old.Close(), nil)
	r.refused(reader, waiting, gpuring.ErrClosed)
	r.whole(lease, kept.Seq)
	r.is(lease.Release(), nil)
	late := r.reader("late") // Close of the old ring has left the files of the new one alone
	r.is(r.lease(late, next).Release(), nil)
}

func testInUse(t *testing.T, f Factory) {
	r := newRig(t, f, 2)
	if w, err := f.Create(r.o); err == nil {
		t.Errorf("a second writer was let in; closing it: %v", w.Close())
	} else {
		r.is(err, gpuring.ErrInUse)
	}
	ticket := r.publish() // the first is unharmed
	r.is(r.lease(r.reader("reader"), ticket).Release(), nil)
}
