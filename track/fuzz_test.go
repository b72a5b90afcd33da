package track

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
)

// absurd are numbers that break careless arithmetic.
var absurd = []float64{
	0, 1, -1, 50, 640, 1e-300, 1e-9, 1e5, 1e6, -1e6, 1e12, 1e300, -1e300,
	math.MaxFloat64, math.MaxFloat32, math.SmallestNonzeroFloat64, math.Inf(1), math.Inf(-1), math.NaN(),
}

// decode makes frames out of bytes: most numbers are plausible, some absurd.
func decode(data []byte) []Observation {
	next := func() byte {
		if len(data) == 0 {
			return 0
		}
		b := data[0]
		data = data[1:]
		return b
	}
	number := func(scale float64) float64 {
		b := next()
		if b >= 240 {
			return absurd[int(next())%len(absurd)]
		}
		return scale * float64(b) / 240
	}
	var frames []Observation
	for len(data) > 0 && len(frames) < 20 {
		obs := Observation{TimeNS: int64(len(frames)) * 40e6, Width: 640, Height: 480}
		if b := next(); b >= 224 {
			stamp := [8]byte{next(), next(), next(), next(), next(), next(), next(), next()}
			obs.TimeNS = int64(binary.LittleEndian.Uint64(stamp[:])) //nolint:gosec // any bit pattern is wanted
			obs.Width, obs.Height = int(next())-128, int(next())-128
		}
		for range next() % 6 {
			f := Face{Presence: number(1)}
			f.Box = [4]float64{number(640), number(480), number(200), number(200)}
			for range next() % 20 {
				f.Points = append(f.Points, [3]float32{float32(number(640)), float32(number(480)), float32(number(50))})
			}
			if next()%4 == 0 {
				f.Points = append(f.Points, make([][3]float32, 478-len(f.Points))...)
			}
			for range next() % 3 {
				f.Blendshapes = append(f.Blendshapes, number(1))
			}
			for range next() % 5 {
				f.Appearance = append(f.Appearance, number(1)-0.5)
			}
			obs.Faces = append(obs.Faces, f)
		}
		frames = append(frames, obs)
	}
	return frames
}

// checkSane wants every face accounted for exactly once, and finite results.
func checkSane(t *testing.T, obs Observation, r Result) {
	t.Helper()
	uses := make([]int, len(obs.Faces))
	last := 0
	for _, f := range r.Faces {
		uses[f.Index]++
		if f.ID <= last {
			t.Fatalf("identities out of order: %d after %d", f.ID, last)
		}
		last = f.ID
		values := append([]float64{f.Pose.Pitch, f.Pose.Yaw, f.Pose.Roll, f.Pose.X, f.Pose.Y, f.Pose.Z, f.Pose.RMS}, f.Box[:]...)
		values = append(append(values, f.Blendshapes...), f.Pose.Quaternion[:]...)
		if f.HasGaze != (f.Gaze.Direction != [3]float64{}) {
			t.Fatalf("gaze %v: %+v", f.HasGaze, f.Gaze)
		}
		for _, e := range []EyeGaze{f.Gaze.Left, f.Gaze.Right} {
			values = append(append(append(values, e.Origin[:]...), e.Direction[:]...), f.Gaze.Pitch, f.Gaze.Yaw, e.Openness)
		}
		for _, p := range f.Points {
			values = append(values, float64(p[0]), float64(p[1]), float64(p[2]))
		}
		for _, v := range values {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("a result is not finite: %+v", f)
			}
		}
	}
	for _, i := range r.Tentative {
		uses[i]++
	}
	for _, j := range r.Rejected {
		uses[j.Index]++
	}
	for i, n := range uses {
		if n != 1 {
			t.Fatalf("face %d is accounted for %d times in %+v", i, n, r)
		}
	}
}

func FuzzUpdate(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 1, 200, 100, 100, 60, 60, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 7, 2, 200, 100})
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255, 127, 200, 200, 2, 250, 18, 100, 100, 60, 60, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		tracker := New(Options{ConfirmHits: 1, MaxFaces: 4})
		for _, obs := range decode(data) {
			checkSane(t, obs, tracker.Update(obs))
		}
	})
}

// TestUpdateSurvivesNoise is the fuzz target on random bytes, for every test run.
func TestUpdateSurvivesNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	published := 0
	for range 600 {
		data := make([]byte, rng.IntN(1500))
		for i := range data {
			data[i] = byte(rng.UintN(256))
			if rng.IntN(4) > 0 {
				data[i] %= 224
			}
		}
		tracker := New(Options{ConfirmHits: 1, MaxFaces: 4})
		for _, obs := range decode(data) {
			r := tracker.Update(obs)
			checkSane(t, obs, r)
			published += len(r.Faces)
		}
	}
	if published < 300 {
		t.Errorf("only %d faces passed: the noise is too wild to test anything", published)
	}
}
