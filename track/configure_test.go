package track

import (
	"reflect"
	"testing"
)

// Options change between two frames: the person stays the same, and what is smoothed is as the new options say.
func TestConfigureBetweenFrames(t *testing.T) {
	smooth := Options{ConfirmHits: 1, Smoothing: Smoothing{Points: OneEuroParams{MinCutoff: 0.01, DCutoff: 1}}}
	off := smooth
	off.Smoothing.Off = true
	tracker := New(smooth)
	at := func(n int) (Tracked, [][3]float32) {
		face := faceAt(100+float64(n%2)*4, 100, 50, 0)
		r := tracker.Update(frame(n, face))
		if len(r.Faces) != 1 || r.Faces[0].ID != 1 {
			t.Fatalf("frame %d: %+v", n, r.Faces)
		}
		return r.Faces[0], face.Points
	}
	for n := range 4 {
		at(n)
	}
	if got, raw := at(5); reflect.DeepEqual(got.Points, raw) {
		t.Error("nothing is smoothed")
	}
	tracker.Configure(off)
	if got, raw := at(6); !reflect.DeepEqual(got.Points, raw) {
		t.Error("points are smoothed although that is off")
	}
	tracker.Configure(smooth)
	at(7)
	if got, raw := at(8); reflect.DeepEqual(got.Points, raw) {
		t.Error("nothing is smoothed once it is on again")
	}
}
