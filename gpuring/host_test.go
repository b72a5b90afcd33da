package gpuring_test

import (
	"testing"

	"facetrack/gpuring"
	"facetrack/gpuring/ringtest"
)

func TestHostRing(t *testing.T) {
	ringtest.Run(t, ringtest.Factory{Create: gpuring.Create, Open: gpuring.Open, Stall: gpuring.Stall})
}

// A ring that follows a closed one of another geometry goes on with the numbers it is given.
func TestFirstSeq(t *testing.T) {
	o := gpuring.Options{
		Dir: ringtest.Dir(t), Rig: "r", Camera: "c", FirstSeq: 41,
		Geometry: gpuring.Geometry{Width: 4, Height: 2, Format: gpuring.BGR, Slots: 2},
	}
	w, err := gpuring.Create(o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	if a, b := w.NextSeq(), w.NextSeq(); a != 41 || b != 42 {
		t.Errorf("numbers %d and %d, want 41 and 42", a, b)
	}
	if s := w.Stats(); s.PublishedNext != 41 || s.NextSeq != 43 {
		t.Errorf("published %d, next %d", s.PublishedNext, s.NextSeq)
	}
}
