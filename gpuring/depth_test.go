package gpuring

import (
	"errors"
	"testing"
)

// deepRing is a host ring of 2 to 6 slots whose depth reads the returned clock.
func deepRing(t *testing.T) (w *ringWriter, clock *int64) {
	t.Helper()
	o := Options{Dir: sharedDir(t), Rig: "lab", Camera: "cam0", Geometry: tiny, MinSlots: 2}
	o.Geometry.Slots = 6
	made, err := Create(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = made.Close() })
	w, clock = made.(*ringWriter), new(int64)
	w.depth.clock = func() int64 { return *clock }
	w.depth.began = 0
	return w, clock
}

// TestDepthFollowsReaders: no frame is dropped before every slot of the ring is held; the ring gets shallow again when it has
// been too deep for a while, never below its least depth, and what it held beyond stays readable.
func TestDepthFollowsReaders(t *testing.T) {
	w, clock := deepRing(t)
	r := tinyReader(t, w)
	var leases []Lease
	hold := func(ticket Ticket) {
		t.Helper()
		l, err := r.Lease(ticket)
		if err != nil {
			t.Fatal(err)
		}
		leases = append(leases, l)
	}
	depthIs := func(want, peak int) {
		t.Helper()
		if s := w.Stats(); s.Depth != want || s.PeakHeld != peak || s.MinSlots != 2 || s.Slots != 6 {
			t.Fatalf("depth %d, peak %d, of %d to %d; want %d, %d, of 2 to 6", s.Depth, s.PeakHeld, s.MinSlots, s.Slots, want, peak)
		}
	}
	for range 5 {
		if got := tinyFrame(t, w).Slot; got > 1 {
			t.Fatalf("slot %d of a ring of depth 2", got)
		}
	}
	depthIs(2, 1)
	for n := range 6 {
		hold(tinyFrame(t, w))
		depthIs(max(2, n+1), n+1)
	}
	if _, err := w.Begin(); !errors.Is(err, ErrNoFreeSlot) {
		t.Fatalf("Begin with all slots held: %v", err)
	}
	last := Ticket{RingID: w.ID(), Slot: 5, Generation: w.c.slot(5, sState).Load() >> holderBits, Seq: w.c.slot(5, sSeq).Load()}
	for _, l := range leases {
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
	}
	window := func() {
		tinyFrame(t, w)
		*clock += int64(calm)
		tinyFrame(t, w)
	}
	window() // in this one, all were held once
	depthIs(6, 6)
	for _, want := range []int{5, 4, 3, 2, 2, 2} {
		window()
		depthIs(want, 1)
	}
	l, err := r.Lease(last)
	if err != nil {
		t.Fatalf("a frame beyond the depth: %v", err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}

// TestDepthStaysWhileNeeded: a ring shrinks only when two slots were to spare all the time.
func TestDepthStaysWhileNeeded(t *testing.T) {
	now := int64(0)
	d := newDepth(2, 8, func() int64 { return now })
	d.now = 5
	for range 10 {
		d.saw(1)
		d.saw(4)
		now += int64(calm)
	}
	if d.now != 5 {
		t.Errorf("depth %d while 4 slots are needed, want 5", d.now)
	}
	for range 10 {
		d.saw(3)
		now += int64(calm)
	}
	if d.now != 5-1 {
		t.Errorf("depth %d while 3 slots are needed, want 4", d.now)
	}
}

func TestMinSlotsOption(t *testing.T) {
	for _, least := range []int{-1, 1, 7} {
		o := Options{Dir: sharedDir(t), Rig: "lab", Camera: "cam0", Geometry: tiny, MinSlots: least}
		o.Geometry.Slots = 6
		if w, err := Create(o); !errors.Is(err, ErrOptions) {
			t.Errorf("at least %d of 6: ring %v, error %v; want ErrOptions", least, w, err)
		}
	}
}

// TestDepthGrowsWhenReadersComeTooLate: frames in a reader's queue are held by nobody; when it finds one overwritten the ring gets
// deeper, and does not get shallower soon.
func TestDepthGrowsWhenReadersComeTooLate(t *testing.T) {
	w, clock := deepRing(t)
	r := tinyReader(t, w)
	for want := 3; want <= 6; want++ {
		first := tinyFrame(t, w)
		for range w.Stats().Depth {
			tinyFrame(t, w)
		}
		if l, err := r.Lease(first); !errors.Is(err, ErrStale) {
			t.Fatalf("a frame that was overwritten: %v, %v", l, err)
		}
		tinyFrame(t, w)
		if s := w.Stats(); s.Depth != want || s.TooLate != uint64(want-2) {
			t.Fatalf("depth %d after %d leases that came too late, want %d", s.Depth, s.TooLate, want)
		}
	}
	window := func(pause int64) int {
		*clock += pause
		tinyFrame(t, w)
		return w.Stats().Depth
	}
	if got := window(int64(alarm) - 1); got != 6 {
		t.Errorf("depth %d within a minute", got)
	}
	for want := 5; want >= 2; want-- {
		if got := window(int64(calm)); got != want {
			t.Errorf("depth %d, want %d", got, want)
		}
	}
}

// TestReadyCountsNothing: whoever may wait asks before it begins.
func TestReadyCountsNothing(t *testing.T) {
	w, _ := deepRing(t)
	r := tinyReader(t, w)
	var leases []Lease
	for range 6 {
		if !w.Ready() {
			t.Fatal("not ready with free slots")
		}
		l, err := r.Lease(tinyFrame(t, w))
		if err != nil {
			t.Fatal(err)
		}
		leases = append(leases, l)
	}
	if w.Ready() || w.Stats().NoFreeSlot != 0 {
		t.Errorf("ready with every slot held, or counted: %+v", w.Stats())
	}
	if err := leases[0].Release(); err != nil || !w.Ready() {
		t.Errorf("not ready after a release, %v", err)
	}
}
