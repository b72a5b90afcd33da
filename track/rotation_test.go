package track

import (
	"math"
	"testing"
)

// TestAxisVectors holds the convention: where nose, chin and the subject's left ear point to.
func TestAxisVectors(t *testing.T) {
	nose, top, left := [3]float64{0, 0, -1}, [3]float64{0, -1, 0}, [3]float64{1, 0, 0}
	s30, c30 := 0.5, math.Sqrt(3)/2
	for _, c := range []struct {
		name             string
		pitch, yaw, roll float64
		direction, want  [3]float64
		quaternion       [4]float64
	}{
		{"straight", 0, 0, 0, nose, [3]float64{0, 0, -1}, [4]float64{1, 0, 0, 0}},
		{"left", 0, 30, 0, nose, [3]float64{s30, 0, -c30}, [4]float64{math.Cos(math.Pi / 12), 0, -math.Sin(math.Pi / 12), 0}},
		{"up", 30, 0, 0, nose, [3]float64{0, -s30, -c30}, [4]float64{math.Cos(math.Pi / 12), -math.Sin(math.Pi / 12), 0, 0}},
		{"tilt", 0, 0, 30, top, [3]float64{-s30, -c30, 0}, [4]float64{math.Cos(math.Pi / 12), 0, 0, -math.Sin(math.Pi / 12)}},
		{"ear in profile", 0, 90, 0, left, [3]float64{0, 0, 1}, [4]float64{math.Sqrt2 / 2, 0, -math.Sqrt2 / 2, 0}},
		{"left then up", 30, 90, 0, nose, [3]float64{c30, -s30, 0}, [4]float64{math.Sqrt2 / 2 * math.Cos(math.Pi/12), -math.Sqrt2 / 2 * math.Sin(math.Pi/12), -math.Sqrt2 / 2 * math.Cos(math.Pi/12), -math.Sqrt2 / 2 * math.Sin(math.Pi/12)}},
	} {
		r := RotationFromAngles(c.pitch, c.yaw, c.roll)
		got := r.apply(&c.direction)
		for k := range 3 {
			if math.Abs(got[k]-c.want[k]) > 1e-12 {
				t.Errorf("%s: %v goes to %v, want %v", c.name, c.direction, got, c.want)
				break
			}
		}
		q := r.Quaternion()
		for k := range 4 {
			if math.Abs(q[k]-c.quaternion[k]) > 1e-9 {
				t.Errorf("%s: quaternion %v, want %v", c.name, q, c.quaternion)
				break
			}
		}
	}
}

func TestAnglesRoundTrip(t *testing.T) {
	for pitch := -85.0; pitch <= 85; pitch += 17 {
		for yaw := -175.0; yaw <= 180; yaw += 35 {
			for roll := -175.0; roll <= 180; roll += 35 {
				p, y, r := RotationFromAngles(pitch, yaw, roll).Angles()
				if math.Abs(p-pitch) > 1e-9 || math.Abs(wrapDegrees(y-yaw)) > 1e-9 || math.Abs(wrapDegrees(r-roll)) > 1e-9 {
					t.Fatalf("(%g, %g, %g) comes back as (%g, %g, %g)", pitch, yaw, roll, p, y, r)
				}
			}
		}
	}
}

// TestGimbalLock: looking straight up, any split of yaw and roll that gives the same rotation is right.
func TestGimbalLock(t *testing.T) {
	for _, pitch := range []float64{90, -90} {
		want := RotationFromAngles(pitch, 40, 25)
		got := RotationFromAngles(want.Angles())
		if e := turnBetween(want, got); !(e < 1e-4) {
			t.Errorf("pitch %g: comes back turned by %g°", pitch, e)
		}
	}
}

// TestQuaternionTurnsLikeTheMatrix compares q·v·q* with the matrix, in every quadrant of the formula.
func TestQuaternionTurnsLikeTheMatrix(t *testing.T) {
	v := [3]float64{0.3, -0.5, 0.8}
	for _, a := range [][3]float64{{0, 0, 0}, {10, 20, 30}, {80, 10, 170}, {5, 178, 3}, {-70, -170, 20}, {0, 0, 180}, {0, 180, 0}, {0, 180, 180}} {
		r := RotationFromAngles(a[0], a[1], a[2])
		q := r.Quaternion()
		w, x, y, z := q[0], q[1], q[2], q[3]
		// t = 2·(xyz × v); v' = v + w·t + xyz × t
		t0 := [3]float64{2 * (y*v[2] - z*v[1]), 2 * (z*v[0] - x*v[2]), 2 * (x*v[1] - y*v[0])}
		got := [3]float64{
			v[0] + w*t0[0] + y*t0[2] - z*t0[1], v[1] + w*t0[1] + z*t0[0] - x*t0[2], v[2] + w*t0[2] + x*t0[1] - y*t0[0],
		}
		want := r.apply(&v)
		if w < 0 || math.Abs(got[0]-want[0])+math.Abs(got[1]-want[1])+math.Abs(got[2]-want[2]) > 1e-9 {
			t.Errorf("angles %v: quaternion %v gives %v, the matrix %v", a, q, got, want)
		}
	}
}

func TestCameraProjects(t *testing.T) {
	// 90° across 1000 px: the focal length is 500 px.
	c := Camera{Width: 1000, Height: 600, HFOVDegrees: 90}
	if f := c.Focal(); math.Abs(f-500) > 1e-9 {
		t.Errorf("focal length %g px, want 500", f)
	}
	uv, ok := c.Project([3]float64{10, -20, 100})
	if !ok || math.Abs(uv[0]-550) > 1e-9 || math.Abs(uv[1]-200) > 1e-9 {
		t.Errorf("projects to %v, want (550, 200)", uv)
	}
	if _, ok := c.Project([3]float64{0, 0, -1}); ok {
		t.Error("a point behind the camera has no image")
	}
}
