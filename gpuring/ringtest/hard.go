package ringtest

import (
	"errors"
	"sync"
	"testing"

	"facetrack/gpuring"
)

// testRevoked: a reader without a heartbeat loses its slots, learns so, and its place is given to nobody else
// before it closes.
func testRevoked(t *testing.T, f Factory) {
	r := newRig(t, f, 2)
	hung, well := r.reader("hung"), r.reader("well")
	var others []gpuring.Reader
	for range gpuring.MaxReaders - 2 {
		others = append(others, r.reader("other"))
	}
	ticket, next := r.publish(), r.publish()
	lease, twice, kept := r.lease(hung, ticket), r.lease(hung, ticket), r.lease(well, next)
	f.Stall(hung)
	Wait(t, "the hung reader is revoked", func() bool { return r.w.Readers()[0].Revoked })
	Wait(t, "its slot is back", func() bool { return r.w.Stats().Held == 1 })
	if s := r.w.Stats(); s.ReclaimedStalled != 1 || s.ReclaimedDead != 0 {
		t.Errorf("reclaimed %d stalled, %d dead; want 1, 0", s.ReclaimedStalled, s.ReclaimedDead)
	}
	r.publish() // into the slot that the hung reader believes to hold
	r.is(lease.Valid(), gpuring.ErrRevoked)
	r.is(lease.Release(), gpuring.ErrRevoked)
	r.is(lease.Release(), gpuring.ErrRevoked)
	r.refused(hung, next, gpuring.ErrRevoked)
	_, err := f.Open(r.w.Descriptor(), "too early")
	r.is(err, gpuring.ErrReadersFull)
	r.is(kept.Valid(), nil)
	r.whole(kept, next.Seq)

	r.is(hung.Close(), nil)
	Wait(t, "its place is free", func() bool { return len(r.w.Readers()) == gpuring.MaxReaders-1 })
	again := r.reader("again")
	r.is(r.lease(again, next).Release(), nil)
	r.is(twice.Release(), gpuring.ErrClosed)
	r.is(kept.Release(), nil)
	for _, other := range others {
		r.is(other.Close(), nil)
	}
}

// testConcurrent: goroutines share readers while the writer laps them; what they see is whole or refused.
func testConcurrent(t *testing.T, f Factory) {
	const slots, frames, workers = 3, 2000, 4
	r := newRig(t, f, slots)
	readers := []gpuring.Reader{r.reader("a"), r.reader("b")}
	feeds := make([]chan gpuring.Ticket, workers)
	var group sync.WaitGroup
	for i := range feeds {
		feeds[i] = make(chan gpuring.Ticket, 2*slots)
		group.Go(func() { consume(t, f, r.o.Geometry.FrameBytes(), readers[i%2], feeds[i]) })
	}
	frame := make([]byte, r.o.Geometry.FrameBytes())
	var dropped uint64
	for range frames {
		seq := r.w.NextSeq()
		claim, err := r.w.Begin()
		if err != nil {
			r.is(err, gpuring.ErrNoFreeSlot)
			dropped++
			continue
		}
		Fill(frame, seq)
		r.is(f.Put(claim.View(), frame), nil)
		ticket, err := claim.Publish(seq)
		r.is(err, nil)
		for _, feed := range feeds {
			select {
			case feed <- ticket:
			default: // this worker is behind
			}
		}
	}
	for _, feed := range feeds {
		close(feed)
	}
	group.Wait()
	r.slots(0, slots)
	if s := r.w.Stats(); s.NoFreeSlot != dropped || s.Published+dropped != frames {
		t.Errorf("%d published and %d dropped of %d; stats %+v", frames-dropped, dropped, frames, s)
	}
}

func consume(t *testing.T, f Factory, size int, reader gpuring.Reader, feed <-chan gpuring.Ticket) {
	frame := make([]byte, size)
	for ticket := range feed {
		lease, err := reader.Lease(ticket)
		if errors.Is(err, gpuring.ErrStale) {
			continue
		}
		if err != nil {
			t.Errorf("Lease: %v", err)
			return
		}
		if err := f.Get(lease.View(), frame); err != nil {
			t.Errorf("Get: %v", err)
		}
		whole := Whole(frame, ticket.Seq)
		if err := lease.Release(); err != nil || !whole {
			t.Errorf("frame %d: whole %v, Release: %v", ticket.Seq, whole, err)
		}
	}
}
