package track

import (
	"math"
	"math/rand/v2"
	"testing"
)

// watched is a tracker that looks at drawn eyes 30 times a second, 640 px wide.
type watched struct {
	*actorEyes
	tracker *Tracker
	frame   int64
}

func watch(o Options) *watched {
	o.ConfirmHits = 1
	w := &watched{actorEyes: newEyes(GenericPoseSolver(), 0, 0, RotationFromAngles(3, -5, 2), [3]float64{1, 0, 60}), tracker: New(o)}
	w.camera, w.noise, w.rng = Camera{Width: 640, Height: 480, HFOVDegrees: 60}, 0.3, rand.New(rand.NewPCG(9, 9))
	return w
}

// next is what the tracker says about the next frame.
func (w *watched) next(t *testing.T) Tracked {
	t.Helper()
	w.frame++
	r := w.tracker.Update(Observation{TimeNS: w.frame * 33_333_333, Width: 640, Height: 480, Faces: []Face{
		{Box: [4]float64{240, 160, 160, 160}, Presence: 1, Points: w.draw(t)},
	}})
	if len(r.Faces) != 1 {
		t.Fatalf("frame %d: %+v", w.frame, r)
	}
	return r.Faces[0]
}

// TestTrackedGaze: smoothing takes half of the noise and follows a jump of the eyes within two frames.
func TestTrackedGaze(t *testing.T) {
	w := watch(Options{})
	rms := func(frames int) (raw, smooth float64) {
		for range frames {
			f := w.next(t)
			if !f.HasGaze {
				t.Fatalf("no gaze: %+v", f.RawGaze)
			}
			r, s := between(f.RawGaze.Direction, w.truth()), between(f.Gaze.Direction, w.truth())
			raw, smooth = raw+r*r, smooth+s*s
		}
		return math.Sqrt(raw / float64(frames)), math.Sqrt(smooth / float64(frames))
	}
	rms(15)
	raw, smooth := rms(150)
	t.Logf("noise %.2f° raw, %.2f° smoothed", raw, smooth)
	if raw > 3 || smooth > 0.65*raw {
		t.Errorf("noise %.2f° raw (want ≤ 3), %.2f° smoothed (want ≤ 0.65 of it)", raw, smooth)
	}
	before := w.truth()
	w.yaw = 20
	w.next(t)
	if f := w.next(t); between(before, f.Gaze.Direction) < 14 || math.Abs(math.Sqrt(dot3(f.Gaze.Left.Direction, f.Gaze.Left.Direction))-1) > 1e-9 {
		t.Errorf("two frames after a jump of 20° the gaze has moved by %.1f°: %+v", between(before, f.Gaze.Direction), f.Gaze)
	}
}

// TestTrackedBlink: a blink is a gap, for one eye or for both, and afterwards the eye begins anew.
func TestTrackedBlink(t *testing.T) {
	w := watch(Options{})
	for range 10 {
		w.next(t)
	}
	w.open[1] = 0.05
	if f := w.next(t); !f.HasGaze || f.Gaze.Left.Valid || !f.Gaze.Right.Valid || between(f.Gaze.Direction, f.Gaze.Right.Direction) > 1e-4 {
		t.Errorf("left eye closed: %+v", f.Gaze)
	}
	w.open[0] = 0.05
	if f := w.next(t); f.HasGaze || f.Gaze.Left.Valid || f.Gaze.Right.Valid || f.Gaze.Direction != [3]float64{} || !f.HasPose {
		t.Errorf("both closed: %+v, %v", f.Gaze, f.HasGaze)
	}
	w.open, w.yaw = [2]float64{0.3, 0.3}, 20
	if f := w.next(t); !f.HasGaze || between(f.Gaze.Direction, f.RawGaze.Direction) > 1e-4 {
		t.Errorf("open again: smoothed %+v, raw %+v", f.Gaze, f.RawGaze)
	}
}

func TestTrackedGazeNeedsItsSet(t *testing.T) {
	w := watch(Options{Smoothing: Smoothing{Off: true}})
	for range 3 {
		if f := w.next(t); !f.HasGaze || f.Gaze != f.RawGaze {
			t.Errorf("smoothing is off: %+v, raw %+v", f.Gaze, f.RawGaze)
		}
	}
	own := ownSolver(t).Topology()
	other := New(Options{ConfirmHits: 1})
	r := other.Update(Observation{Width: 640, Height: 480, Faces: []Face{{Box: [4]float64{240, 160, 160, 160}, Presence: 1, Points: w.draw(t)[:own.Count]}}})
	if len(r.Faces) != 1 || r.Faces[0].HasPose || r.Faces[0].HasGaze || r.Faces[0].Gaze != (Gaze{}) {
		t.Errorf("points of another set: %+v", r.Faces)
	}
}

func TestGazeDoesNotAllocate(t *testing.T) {
	a := newEyes(GenericPoseSolver(), 5, 10, RotationFromAngles(5, -20, 3), [3]float64{3, 2, 70})
	points, pose := a.draw(t), poseOf(a.turn, a.at)
	if n := testing.AllocsPerRun(100, func() { _, _ = a.solver.Gaze().Solve(points, a.camera, pose) }); n != 0 {
		t.Errorf("%g allocations a face", n)
	}
}
