package track

import (
	"slices"
	"testing"
)

// TestVerySlowFrames: cameras and picture sequences with a frame a second, every ten seconds, and anything between.
func TestVerySlowFrames(t *testing.T) {
	for _, fps := range []float64{1, 0.5, 0.2, 0.1} {
		everySeed(t, 60/fps, func(seed uint64) *scene {
			s := newScene(seed, actor{path: still(300, 350, 170)}, actor{path: line(1180, 560, 140, -15*fps, 0)}, actor{path: still(640, 120, 100)})
			s.fps = fps
			return s
		})
	}
}

// TestSlowNewcomer: whoever is on three slow frames is somebody, and a frame without them changes nothing, also when
// nothing but the place tells who it is.
func TestSlowNewcomer(t *testing.T) {
	for _, seconds := range []int{1, 2, 5} {
		tracker := New(Options{})
		var got []int
		for n, there := range []bool{false, true, true, true, true, false, true, true} {
			obs := frame(0)
			obs.TimeNS = int64(n*seconds) * 1e9
			if there {
				obs.Faces = []Face{faceAt(100, 100, 80, -1)}
			}
			got = append(got, ids(tracker.Update(obs))...)
		}
		if want := []int{1, 1, 1, 1}; !slices.Equal(got, want) {
			t.Errorf("a frame every %d s: identities %v, want %v", seconds, got, want)
		}
	}
}

// TestInterruptionIsNoFrameRate: one long pause must not make the tracker patient with ghosts.
func TestInterruptionIsNoFrameRate(t *testing.T) {
	var c clock
	now := int64(0)
	step := func(seconds float64) {
		now += int64(seconds * 1e9)
		c.advance(now)
	}
	step(0)
	for range 50 {
		step(0.04)
	}
	step(100)
	if c.beat > 0.06 {
		t.Errorf("one pause among frames 0.04 s apart makes the beat %.3f s", c.beat)
	}
	for range 60 {
		step(4)
	}
	if c.beat < 3.5 {
		t.Errorf("after a minute of frames 4 s apart the beat is %.3f s", c.beat)
	}
}
