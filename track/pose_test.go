package track

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"facetrack/topology"
)

var testCamera = Camera{Width: 1280, Height: 720, HFOVDegrees: 60}

// project draws the model of a solver with a pose, as points of its set.
func project(t testing.TB, s *PoseSolver, camera Camera, r Rotation, at [3]float64, noise float64, rng *rand.Rand) [][3]float32 {
	t.Helper()
	points := make([][3]float32, s.set.Count)
	for _, m := range s.points {
		p := r.apply(&m.at)
		uv, ok := camera.Project([3]float64{p[0] + at[0], p[1] + at[1], p[2] + at[2]})
		if !ok {
			t.Fatalf("point %d lies behind the camera", m.index)
		}
		points[m.index] = [3]float32{float32(uv[0] + noise*rng.NormFloat64()), float32(uv[1] + noise*rng.NormFloat64()), 0}
	}
	return points
}

// turnBetween is the angle of the rotation between two, degrees.
func turnBetween(a, b Rotation) float64 {
	trace := 0.0
	for i := range 3 {
		for j := range 3 {
			trace += a[i][j] * b[i][j]
		}
	}
	return math.Acos(math.Max(-1, math.Min(1, (trace-1)/2))) * 180 / math.Pi
}

// grid calls check with every pose of a coarse grid over the working range.
func grid(check func(pitch, yaw, roll, depth float64)) {
	for pitch := -40.0; pitch <= 40; pitch += 20 {
		for yaw := -60.0; yaw <= 60; yaw += 15 {
			for roll := -40.0; roll <= 40; roll += 20 {
				for _, depth := range []float64{30, 60, 120, 200} {
					check(pitch, yaw, roll, depth)
				}
			}
		}
	}
}

// ownSolver is that of the project's own points.
func ownSolver(t testing.TB) *PoseSolver {
	t.Helper()
	s, err := NewPoseSolver(topology.ICT, topology.ICT.Head())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// everySolver is that of each head.
func everySolver(t *testing.T, run func(t *testing.T, s *PoseSolver)) {
	t.Run("own", func(t *testing.T) { run(t, ownSolver(t)) })
	solvers(t, run)
}

// solvers are those of the public set: the built-in head and, when its file is there, the canonical mesh.
func solvers(t *testing.T, run func(t *testing.T, s *PoseSolver)) {
	t.Run("generic", func(t *testing.T) { run(t, GenericPoseSolver()) })
	t.Run("canonical", func(t *testing.T) { run(t, canonicalSolver(t)) })
}

func TestPoseIsExactWithoutNoise(t *testing.T) {
	everySolver(t, func(t *testing.T, s *PoseSolver) {
		rng := rand.New(rand.NewPCG(1, 1))
		worst, worstShift := 0.0, 0.0
		grid(func(pitch, yaw, roll, depth float64) {
			want := RotationFromAngles(pitch, yaw, roll)
			at := [3]float64{0.2 * depth * (rng.Float64() - 0.5), 0.2 * depth * (rng.Float64() - 0.5), depth}
			pose, err := s.Solve(project(t, s, testCamera, want, at, 0, rng), testCamera, nil)
			if err != nil {
				t.Fatalf("pitch %g yaw %g roll %g at %g cm: %v", pitch, yaw, roll, depth, err)
			}
			worst = max(worst, turnBetween(want, pose.Rotation()))
			worst = max(worst, math.Abs(pose.Pitch-pitch), math.Abs(pose.Yaw-yaw), math.Abs(pose.Roll-roll))
			worstShift = max(worstShift, math.Hypot(math.Hypot(pose.X-at[0], pose.Y-at[1]), pose.Z-at[2])/depth)
		})
		t.Logf("worst angle %.2g°, worst position %.2g of the depth", worst, worstShift)
		if worst > 0.1 || worstShift > 0.001 {
			t.Errorf("worst angle %g° (want ≤ 0.1), worst position %g of the depth (want ≤ 0.001)", worst, worstShift)
		}
	})
}

func TestPoseUnderHalfAPixelOfNoise(t *testing.T) {
	everySolver(t, func(t *testing.T, s *PoseSolver) {
		rng := rand.New(rand.NewPCG(2, 2))
		worst, sum, n := 0.0, 0.0, 0
		byDepth := map[float64]float64{}
		grid(func(pitch, yaw, roll, depth float64) {
			want := RotationFromAngles(pitch, yaw, roll)
			pose, err := s.Solve(project(t, s, testCamera, want, [3]float64{0, 0, depth}, 0.5, rng), testCamera, nil)
			if err != nil {
				t.Fatalf("pitch %g yaw %g roll %g at %g cm: %v", pitch, yaw, roll, depth, err)
			}
			e := turnBetween(want, pose.Rotation())
			worst, sum, n = max(worst, e), sum+e, n+1
			byDepth[depth] = max(byDepth[depth], e)
		})
		t.Logf("mean %.3f°, worst %.3f°, worst by depth %v", sum/float64(n), worst, byDepth)
		if worst > 1.5 {
			t.Errorf("worst error %g°, want < 1.5°", worst)
		}
	})
}

func TestPoseSigns(t *testing.T) {
	s := GenericPoseSolver()
	at := func(pitch, yaw, roll float64) func(i int) [2]float64 {
		points := project(t, s, testCamera, RotationFromAngles(pitch, yaw, roll), [3]float64{0, 0, 80}, 0, rand.New(rand.NewPCG(0, 0)))
		return func(i int) [2]float64 { return [2]float64{float64(points[i][0]), float64(points[i][1])} }
	}
	straight, left, up, tilted := at(0, 0, 0), at(0, 20, 0), at(20, 0, 0), at(0, 0, 20)
	const tip, brow, rightEye, leftEye = 1, 10, 33, 263
	if !(straight(rightEye)[0] < straight(tip)[0] && straight(tip)[0] < straight(leftEye)[0] && straight(brow)[1] < straight(tip)[1]) {
		t.Error("facing the camera, the subject's left eye must be at image right and the forehead on top")
	}
	if !(left(tip)[0] > straight(tip)[0]+20) {
		t.Error("a positive yaw must move the nose to image right (the subject's left)")
	}
	if !(up(tip)[1] < straight(tip)[1]-20) {
		t.Error("a positive pitch must move the nose up")
	}
	if !(tilted(brow)[0] < straight(brow)[0]-20 && tilted(leftEye)[1] < tilted(rightEye)[1]) {
		t.Error("a positive roll must move the forehead to image left (the subject's right) and lift the left eye")
	}
}

func TestPoseWarmStartSurvivesAMisleadingOne(t *testing.T) {
	s := GenericPoseSolver()
	want := RotationFromAngles(10, -50, 5)
	points := project(t, s, testCamera, want, [3]float64{5, -3, 70}, 0, rand.New(rand.NewPCG(0, 0)))
	for _, warm := range []Pose{
		{Yaw: -48, Pitch: 9, Roll: 4, X: 5, Y: -3, Z: 71}, {Yaw: 170, Z: 70}, {Roll: 180, X: 500, Z: 20},
		{Yaw: math.NaN(), Z: 50}, {Z: math.Inf(1)},
	} {
		pose, err := s.Solve(points, testCamera, &warm)
		if err != nil || turnBetween(want, pose.Rotation()) > 0.1 {
			t.Errorf("from %+v: got %+v, %v", warm, pose, err)
		}
	}
}

// TestPoseResistsExpressions moves some points as raised brows and a frown would.
func TestPoseResistsExpressions(t *testing.T) {
	s := GenericPoseSolver()
	want := RotationFromAngles(5, 25, -5)
	points := project(t, s, testCamera, want, [3]float64{0, 0, 60}, 0, rand.New(rand.NewPCG(0, 0)))
	for _, i := range []int{9, 117, 346} {
		points[i][1] -= 12 // 8 mm at this distance
	}
	pose, err := s.Solve(points, testCamera, nil)
	if err != nil || turnBetween(want, pose.Rotation()) > 2.5 {
		t.Errorf("off by %.2f° (%v), want at most 2.5°", turnBetween(want, pose.Rotation()), err)
	}
}

func TestPoseRefuses(t *testing.T) {
	s := GenericPoseSolver()
	good := project(t, s, testCamera, RotationFromAngles(0, 0, 0), [3]float64{0, 0, 60}, 0, rand.New(rand.NewPCG(0, 0)))
	bad := append([][3]float32(nil), good...)
	bad[1][0] = float32(math.NaN())
	scattered := make([][3]float32, 478)
	rng := rand.New(rand.NewPCG(3, 3))
	for i := range scattered {
		scattered[i] = [3]float32{rng.Float32() * 1280, rng.Float32() * 720, 0}
	}
	for _, c := range []struct {
		name   string
		points [][3]float32
		camera Camera
		want   error
	}{
		{"no size", good, Camera{HFOVDegrees: 60}, ErrCamera},
		{"no field of view", good, Camera{Width: 640, Height: 480}, ErrCamera},
		{"NaN field of view", good, Camera{640, 480, math.NaN()}, ErrCamera},
		{"five points", good[:5], testCamera, ErrTopology},
		{"all in one place", make([][3]float32, 478), testCamera, ErrNoPose},
		{"NaN", bad, testCamera, ErrNoPose},
		{"scattered", scattered, testCamera, ErrNoPose},
	} {
		if pose, err := s.Solve(c.points, c.camera, nil); !errors.Is(err, c.want) {
			t.Errorf("%s: got %+v, %v; want %v", c.name, pose, err, c.want)
		}
	}
}

func TestPoseSolverRefusesModels(t *testing.T) {
	flat := make([][3]float64, 478)
	for i := range flat {
		flat[i] = [3]float64{float64(i % 20), float64(i / 20), 0}
	}
	broken := append([][3]float64(nil), flat...)
	broken[10][2] = math.Inf(1)
	for name, mesh := range map[string][][3]float64{"empty": nil, "flat": flat, "broken": broken} {
		if _, err := NewPoseSolver(topology.MediaPipe, mesh); !errors.Is(err, ErrModel) {
			t.Errorf("%s: got %v, want %v", name, err, ErrModel)
		}
	}
	if _, err := NewPoseSolver(&topology.Topology{Stable: []topology.Weighted{{Index: 1, Weight: 1}, {Index: 2, Weight: -1}}}, flat); !errors.Is(err, ErrModel) {
		t.Error("a negative weight must be refused")
	}
}

// TestPoseOfTheWrongFieldOfView pins what the package comment says about it.
func TestPoseOfTheWrongFieldOfView(t *testing.T) {
	s := GenericPoseSolver()
	actual, assumed := testCamera, testCamera
	actual.HFOVDegrees = 70
	stretch := assumed.Focal() / actual.Focal()
	for _, c := range []struct{ x, limit float64 }{{0, 1}, {32, 6}} { // cm from the axis; 32 is near the border
		worst := 0.0
		for yaw := -45.0; yaw <= 45; yaw += 15 {
			for pitch := -30.0; pitch <= 30; pitch += 15 {
				want := RotationFromAngles(pitch, yaw, 0)
				points := project(t, s, actual, want, [3]float64{c.x, 0, 60}, 0, rand.New(rand.NewPCG(0, 0)))
				pose, err := s.Solve(points, assumed, nil)
				if err != nil {
					t.Fatal(err)
				}
				worst = max(worst, turnBetween(want, pose.Rotation()))
				if math.Abs(pose.Z/60-stretch) > 0.06 {
					t.Errorf("pitch %g yaw %g: depth is %.2f times the true one, want about %.2f", pitch, yaw, pose.Z/60, stretch)
				}
			}
		}
		t.Logf("%g cm from the axis: worst angle %.2f°", c.x, worst)
		if worst > c.limit {
			t.Errorf("%g cm from the axis: off by %.2f°, documented as at most %g°", c.x, worst, c.limit)
		}
	}
}

func BenchmarkPoseWarm(b *testing.B) { benchmarkPose(b, true) }
func BenchmarkPoseCold(b *testing.B) { benchmarkPose(b, false) }

func benchmarkPose(b *testing.B, warm bool) {
	s := fullGenericSolver(b)
	rng := rand.New(rand.NewPCG(4, 4))
	frames := make([][][3]float32, 64)
	for i := range frames {
		a := 2 * math.Pi * float64(i) / float64(len(frames))
		r := RotationFromAngles(15*math.Sin(a), 40*math.Sin(2*a), 10*math.Cos(a))
		frames[i] = project(b, s, testCamera, r, [3]float64{5 * math.Sin(a), 0, 70 + 10*math.Cos(a)}, 0.5, rng)
	}
	b.ReportAllocs()
	var last Pose
	var start *Pose
	if warm {
		start = &last
	}
	for i := 0; b.Loop(); i++ {
		var err error
		if last, err = s.Solve(frames[i%len(frames)], testCamera, start); err != nil {
			b.Fatal(err)
		}
	}
}

// fullGenericSolver has as many points as a canonical mesh's solver: the built-in head's points,
// shifted copies of which stand for the indices it lacks.
func fullGenericSolver(t testing.TB) *PoseSolver {
	t.Helper()
	mesh := make([][3]float64, 478)
	generic := GenericPoseSolver().points
	for i := range mesh {
		at := generic[i%len(generic)].at
		mesh[i] = [3]float64{at[0], -at[1], -at[2]}
	}
	s, err := NewPoseSolver(topology.MediaPipe, mesh)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func ExamplePoseSolver_Solve() {
	s := GenericPoseSolver()
	camera := Camera{Width: 1280, Height: 720, HFOVDegrees: 60}
	_, err := s.Solve(nil, camera, nil)
	fmt.Println(err)
	// Output: track: points do not cover the face model: 0 points; mediapipe-478 has 478
}
