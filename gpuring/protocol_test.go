package gpuring

import (
	"errors"
	"os"
	"testing"

	"facetrack/gpuring/internal/shm"
)

// The tests in this file put one step of the protocol between two others, where timing alone seldom does.

var tiny = Geometry{Width: 4, Height: 4, Format: BGR, Slots: 2}

func tinyRing(t *testing.T) *ringWriter {
	t.Helper()
	w, err := Create(Options{Dir: sharedDir(t), Rig: "lab", Camera: "cam0", Geometry: tiny})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w.(*ringWriter)
}

// sharedDir returns an empty folder in shared memory, which goes after the test.
func sharedDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(DefaultDir, "facetrack-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func tinyReader(t *testing.T, w *ringWriter) *ringReader {
	t.Helper()
	r, err := w.AttachLocal("reader")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r.(*ringReader)
}

func tinyFrame(t *testing.T, w *ringWriter) Ticket {
	t.Helper()
	c, err := w.Begin()
	if err != nil {
		t.Fatal(err)
	}
	ticket, err := c.Publish(w.NextSeq())
	if err != nil {
		t.Fatal(err)
	}
	return ticket
}

// meanwhile runs once inside the next Lease, after its look at the slot and before its exchange.
func (r *ringReader) meanwhile(do func()) {
	r.c.faults.BeforeHold = func() {
		r.c.faults.BeforeHold = nil
		do()
	}
}

func TestRevokedInsideLease(t *testing.T) {
	w := tinyRing(t)
	r, ticket := tinyReader(t, w), tinyFrame(t, w)
	r.meanwhile(func() {
		if _, ok := w.c.revoke(r.index, r.epoch); !ok {
			t.Error("not revoked")
		}
	})
	if l, err := r.Lease(ticket); !errors.Is(err, ErrRevoked) {
		t.Errorf("lease %v, error %v; want ErrRevoked", l, err)
	}
	if got := w.c.held(r.index); got != 0 {
		t.Errorf("a reader revoked inside Lease kept %d slots", got)
	}
}

// TestRevokedReaderStopsInsideLease: its bit appears after the revocation; the reaper takes it again.
func TestRevokedReaderStopsInsideLease(t *testing.T) {
	w := tinyRing(t)
	r, ticket := tinyReader(t, w), tinyFrame(t, w)
	w.c.revoke(r.index, r.epoch)
	if !r.c.hold(ticket.Slot, ticket.Generation, r.index) {
		t.Fatal("the slot was free")
	}
	probe := &reaper{c: w.c, log: w.log}
	probe.look()
	if got := w.c.held(r.index); got != 0 {
		t.Errorf("a revoked reader kept %d slots", got)
	}
}

func TestOverwrittenInsideLease(t *testing.T) {
	w := tinyRing(t)
	r, ticket := tinyReader(t, w), tinyFrame(t, w)
	r.meanwhile(func() {
		tinyFrame(t, w)
		tinyFrame(t, w) // into the ticket's slot
	})
	if l, err := r.Lease(ticket); !errors.Is(err, ErrStale) {
		t.Errorf("lease %v, error %v; want ErrStale", l, err)
	}
}

func TestOtherReaderInsideLease(t *testing.T) {
	w := tinyRing(t)
	a, b, ticket := tinyReader(t, w), tinyReader(t, w), tinyFrame(t, w)
	a.meanwhile(func() {
		if _, err := b.Lease(ticket); err != nil {
			t.Error(err)
		}
	})
	if _, err := a.Lease(ticket); err != nil {
		t.Error(err)
	}
	if w.c.held(a.index) != 1 || w.c.held(b.index) != 1 {
		t.Error("one reader's lease took the other's away")
	}
}

// TestRevokedInsideClose: whichever of revocation and Close is first, the entry is freed once, by one of them.
func TestRevokedInsideClose(t *testing.T) {
	w := tinyRing(t)
	w.reaper.stop() // this test is the reaper
	defer func() { w.reaper = every(reapInterval, func() {}) }()
	r := tinyReader(t, w)
	w.c.revoke(r.index, r.epoch)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	next := tinyReader(t, w)
	if next.index == r.index {
		t.Fatal("the revoked entry was given away while the reaper may still clear its bits")
	}
	probe := &reaper{c: w.c, log: w.log}
	probe.look()
	again := tinyReader(t, w)
	if again.index != r.index || again.epoch != r.epoch+1 {
		t.Errorf("entry %d epoch %d, want %d, %d", again.index, again.epoch, r.index, r.epoch+1)
	}
	if _, ok := w.c.revoke(r.index, r.epoch); ok {
		t.Error("a late revocation of the old owner met the new one")
	}
}

// TestHalfClaimedEntry: a process that dies between taking an entry's lock and filling it leaves the entry free.
func TestHalfClaimedEntry(t *testing.T) {
	w := tinyRing(t)
	f, _, err := shm.Open(w.desc.ControlPath, shm.NoGroup)
	if err != nil {
		t.Fatal(err)
	}
	if mine, err := shm.TryLock(f, readerByte(0)); err != nil || !mine {
		t.Fatal(mine, err)
	}
	w.c.reader(0, rPID).Store(12345) // as far as it came
	if r := tinyReader(t, w); r.index == 0 {
		t.Error("an entry was given to two readers")
	}
	if err := f.Close(); err != nil { // what the kernel does for a dead process
		t.Fatal(err)
	}
	if r := tinyReader(t, w); r.index != 0 {
		t.Errorf("entry %d taken, want the half-claimed one back", r.index)
	}
}

// TestGenerationWraps: 0 is left out, for it means "never written".
func TestGenerationWraps(t *testing.T) {
	w := tinyRing(t)
	r := tinyReader(t, w)
	for slot := range tiny.Slots {
		w.c.slot(slot, sState).Store((generationMask - 3) << holderBits)
	}
	for _, want := range []uint64{generationMask - 1, 2, 4} {
		tinyFrame(t, w)
		ticket := tinyFrame(t, w)
		if ticket.Generation != want {
			t.Errorf("generation %d, want %d", ticket.Generation, want)
		}
		l, err := r.Lease(ticket)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Release(); err != nil {
			t.Error(err)
		}
	}
}

// TestPausedReaper: silence while the writer itself was stopped is no reader's fault.
func TestPausedReaper(t *testing.T) {
	w := tinyRing(t)
	r := tinyReader(t, w)
	Stall(r)
	probe := &reaper{c: w.c, log: w.log, last: 1} // it looked last when the machine started
	probe.look()
	probe.last = 1
	probe.look()
	if silent := probe.seen[r.index].silent; silent > 2*reapInterval {
		t.Errorf("a pause of the writer counts as %v of silence", silent)
	}
}

func TestDamagedControlBlock(t *testing.T) {
	w := tinyRing(t)
	c, err := w.Begin()
	if err != nil {
		t.Fatal(err)
	}
	w.c.slot(c.(*claim).slot, sState).Store(0)
	if _, err := c.Publish(0); !errors.Is(err, ErrClosed) {
		t.Errorf("Publish into a damaged control block: %v, want ErrClosed", err)
	}
}
