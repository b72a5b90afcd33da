package track

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"facetrack/topology"
)

// actorEyes draws eyes into a projected head: where they look relative to the head, how far they are open, how noisy
// their points are.
type actorEyes struct {
	pitch, yaw float64 // degrees
	open       [2]float64
	noise      float64 // px
	solver     *PoseSolver
	camera     Camera
	turn       Rotation
	at         [3]float64
	rng        *rand.Rand
}

func newEyes(s *PoseSolver, pitch, yaw float64, turn Rotation, at [3]float64) *actorEyes {
	return &actorEyes{
		pitch: pitch, yaw: yaw, open: [2]float64{0.3, 0.3}, solver: s, camera: testCamera, turn: turn, at: at, rng: rand.New(rand.NewPCG(6, 6)),
	}
}

// truth is where the eyes look, in the camera frame.
func (a *actorEyes) truth() [3]float64 {
	look := RotationFromAngles(a.pitch, a.yaw, 0)
	ahead := look.apply(&[3]float64{0, 0, -1})
	return a.turn.apply(&ahead)
}

func (a *actorEyes) draw(t testing.TB) [][3]float32 {
	t.Helper()
	points := project(t, a.solver, a.camera, a.turn, a.at, a.noise, a.rng)
	for i, e := range []*eyeModel{&a.solver.gaze.right, &a.solver.gaze.left} {
		middle := [3]float64{(e.outerAt[0] + e.innerAt[0]) / 2, (e.outerAt[1] + e.innerAt[1]) / 2, (e.outerAt[2] + e.innerAt[2]) / 2}
		lid := a.open[i] * e.width / 2
		a.put(t, points, e.Upper, [3]float64{middle[0], middle[1] - lid, middle[2]}, [3]float64{})
		a.put(t, points, e.Lower, [3]float64{middle[0], middle[1] + lid, middle[2]}, [3]float64{})
		ball, truth := [3]float64{middle[0], middle[1] + e.centre[1], middle[2] + e.centre[2]}, a.truth()
		a.put(t, points, e.Iris, ball, [3]float64{1.05 * truth[0], 1.05 * truth[1], 1.05 * truth[2]})
	}
	return points
}

// put draws a point given in the head's axes, with an offset in the camera's.
func (a *actorEyes) put(t testing.TB, points [][3]float32, index int, head, offset [3]float64) {
	t.Helper()
	p := a.turn.apply(&head)
	for k := range p {
		p[k] += a.at[k] + offset[k]
	}
	uv, ok := a.camera.Project(p)
	if !ok {
		t.Fatalf("point %d lies behind the camera", index)
	}
	points[index] = [3]float32{float32(uv[0] + a.noise*a.rng.NormFloat64()), float32(uv[1] + a.noise*a.rng.NormFloat64()), 0}
}

// solve fits pose and gaze to a drawing.
func (a *actorEyes) solve(t testing.TB) (Gaze, error) {
	t.Helper()
	points := a.draw(t)
	pose, err := a.solver.Solve(points, a.camera, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a.solver.Gaze().Solve(points, a.camera, pose)
}

// between is the angle of two directions, degrees.
func between(a, b [3]float64) float64 {
	return math.Acos(math.Max(-1, math.Min(1, dot3(a, b)))) * 180 / math.Pi
}

// gazes calls check with heads turned by up to 30° and eyes turned in them by up to 25°.
func gazes(s *PoseSolver, check func(a *actorEyes)) {
	for _, depth := range []float64{50, 60, 120} {
		for headPitch := -30.0; headPitch <= 30; headPitch += 15 {
			for headYaw := -30.0; headYaw <= 30; headYaw += 15 {
				for pitch := -25.0; pitch <= 25; pitch += 12.5 {
					for yaw := -25.0; yaw <= 25; yaw += 12.5 {
						turn := RotationFromAngles(headPitch, headYaw, headYaw/2-headPitch/3)
						check(newEyes(s, pitch, yaw, turn, [3]float64{depth * yaw / 500, depth * pitch / 500, depth}))
					}
				}
			}
		}
	}
}

func TestGazeIsExactWithoutNoise(t *testing.T) {
	everySolver(t, func(t *testing.T, s *PoseSolver) {
		worst := 0.0
		gazes(s, func(a *actorEyes) {
			g, err := a.solve(t)
			if err != nil || !g.Left.Valid || !g.Right.Valid {
				t.Fatalf("head %+v, eyes %g %g: %+v, %v", poseOf(a.turn, a.at), a.pitch, a.yaw, g, err)
			}
			truth := a.truth()
			worst = max(worst, between(g.Left.Direction, truth), between(g.Right.Direction, truth), between(g.Direction, truth))
			pitch, yaw := DirectionAngles(a.turn.ToHead(g.Direction))
			if math.Abs(pitch-a.pitch) > 0.5 || math.Abs(yaw-a.yaw) > 0.5 {
				t.Errorf("relative to the head %g %g, want %g %g", pitch, yaw, a.pitch, a.yaw)
			}
			facing := RotationFromAngles(g.Pitch, g.Yaw, 0)
			if e := between(facing.apply(&[3]float64{0, 0, -1}), g.Direction); e > 1e-4 {
				t.Errorf("a head of pitch %g and yaw %g faces %g° off the gaze", g.Pitch, g.Yaw, e)
			}
		})
		t.Logf("worst %.2g°", worst)
		if worst > 0.5 {
			t.Errorf("worst error %g°, want ≤ 0.5°", worst)
		}
	})
}

// TestGazeUnderNoise pins what the package comment says: 0.3 px on every point, a 640 px wide image, 60 cm.
func TestGazeUnderNoise(t *testing.T) {
	everySolver(t, func(t *testing.T, s *PoseSolver) {
		rng := rand.New(rand.NewPCG(7, 7))
		var eye, both, n float64
		gazes(s, func(a *actorEyes) {
			a.camera, a.noise, a.rng = Camera{Width: 640, Height: 480, HFOVDegrees: 60}, 0.3, rng
			a.at = [3]float64{0, 0, 60}
			g, err := a.solve(t)
			if err != nil {
				t.Fatal(err)
			}
			if !g.Left.Valid || !g.Right.Valid {
				return // eyes turned far to the side of the camera
			}
			l, b := between(g.Left.Direction, a.truth()), between(g.Direction, a.truth())
			eye, both, n = eye+l*l, both+b*b, n+1
		})
		eye, both = math.Sqrt(eye/n), math.Sqrt(both/n)
		t.Logf("RMS of one eye %.2f°, of both %.2f°, %g gazes", eye, both, n)
		if eye > 4.2 || both > 3.1 || n < 1850 {
			t.Errorf("RMS of one eye %.2f° (want ≤ 4.2), of both %.2f° (want ≤ 3.1), %g of 1875 gazes", eye, both, n)
		}
	})
}

// TestGazeSigns moves one iris at a time: 473 is the subject's left, at image right.
func TestGazeSigns(t *testing.T) {
	s := GenericPoseSolver()
	a := newEyes(s, 0, 0, RotationFromAngles(0, 0, 0), [3]float64{0, 0, 60})
	straight := a.draw(t)
	pose := poseOf(a.turn, a.at)
	solve := func(iris int, dx, dy float32) Gaze {
		t.Helper()
		points := append([][3]float32(nil), straight...)
		points[iris][0] += dx
		points[iris][1] += dy
		g, err := s.Gaze().Solve(points, testCamera, pose)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	const right, left = 468, 473
	still := solve(left, 0, 0)
	if !(still.Left.Origin[0] > 2 && still.Right.Origin[0] < -2) || still.Left.Direction[2] > -0.999 || math.Abs(still.Yaw)+math.Abs(still.Pitch) > 0.01 {
		t.Errorf("straight ahead: %+v", still)
	}
	if g := solve(left, 5, 0); !(g.Left.Direction[0] > 0.2) || between(g.Right.Direction, still.Right.Direction) > 1e-4 || !(g.Yaw > 5) {
		t.Errorf("the left iris to image right (the subject's left): %+v", g)
	}
	if g := solve(right, -5, 0); !(g.Right.Direction[0] < -0.2) || between(g.Left.Direction, still.Left.Direction) > 1e-4 || !(g.Yaw < -5) {
		t.Errorf("the right iris to image left (the subject's right): %+v", g)
	}
	if g := solve(left, 0, -5); !(g.Left.Direction[1] < -0.2) || !(g.Pitch > 5) || math.Abs(g.Yaw) > 0.1 {
		t.Errorf("the left iris up: %+v", g)
	}
}

func TestClosedEyes(t *testing.T) {
	a := newEyes(GenericPoseSolver(), 5, 10, RotationFromAngles(5, -20, 0), [3]float64{3, 2, 70})
	a.open = [2]float64{0.3, 0.05}
	g, err := a.solve(t)
	if err != nil || g.Left.Valid || !g.Right.Valid || between(g.Direction, a.truth()) > 0.5 || g.Left.Direction != [3]float64{} {
		t.Errorf("left eye closed: %+v, %v", g, err)
	}
	if math.Abs(g.Left.Openness-0.05) > 0.005 || math.Abs(g.Right.Openness-0.3) > 0.02 {
		t.Errorf("openness %.3f and %.3f, want 0.05 and 0.3", g.Left.Openness, g.Right.Openness)
	}
	a.open = [2]float64{0.05, 0.05}
	if g, err := a.solve(t); !errors.Is(err, ErrNoGaze) || g.Left.Valid || g.Right.Valid {
		t.Errorf("both eyes closed: %+v, %v", g, err)
	}
}

// TestHiddenEye: beside the nose of a head in profile there is no eye to be seen.
func TestHiddenEye(t *testing.T) {
	for _, side := range []float64{1, -1} {
		g, err := newEyes(GenericPoseSolver(), 0, -20*side, RotationFromAngles(0, 60*side, 0), [3]float64{0, 0, 70}).solve(t)
		left, right := &g.Left, &g.Right // to the subject's left: the left eye is the hidden one
		if side < 0 {
			left, right = right, left
		}
		if err != nil || left.Valid || !right.Valid {
			t.Errorf("head at yaw %g°: %+v, %v", 60*side, g, err)
		}
	}
}

func TestRayThatMissesTheEyeball(t *testing.T) {
	center := [3]float64{2, -1, 60}
	for _, c := range []struct {
		off  float64 // cm from the centre, at its depth
		want float64 // degrees between gaze and the direction to the camera
		ok   bool
	}{{0, 0, true}, {0.525, 30, true}, {1.04, 82, true}, {1.06, 90, true}, {1.3, 90, true}, {1.4, 0, false}, {40, 0, false}} {
		sight, _ := normalized(center)
		across, _ := normalized([3]float64{sight[2], 0, -sight[0]})
		var at [3]float64
		for k := range at {
			at[k] = center[k] + c.off*across[k]
		}
		ray, _ := normalized(at)
		d, ok := meet(ray, center, 1.05)
		if ok != c.ok || ok && (math.Abs(between(d, [3]float64{-sight[0], -sight[1], -sight[2]})-c.want) > 2 || math.Abs(dot3(d, d)-1) > 1e-9) {
			t.Errorf("%g cm off: %v %v, want %g° from the camera, %v", c.off, d, ok, c.want, c.ok)
		}
	}
	// A head that is turned away, its eyes farther still: the iris is drawn beyond the eyeball's rim and counts as on it.
	a := newEyes(GenericPoseSolver(), 0, 42, RotationFromAngles(0, 40, 0), [3]float64{0, 0, 60})
	points := a.draw(t)
	points[468][0] += 3 // 1.6 mm
	g, err := a.solver.Gaze().Solve(points, a.camera, poseOf(a.turn, a.at))
	if err != nil || !g.Right.Valid || between(g.Right.Direction, a.truth()) > 12 {
		t.Errorf("beyond the rim: %+v, %v; truth %v", g, err, a.truth())
	}
	points[468][0] += 20
	if g, _ := a.solver.Gaze().Solve(points, a.camera, poseOf(a.turn, a.at)); g.Right.Valid {
		t.Errorf("far beyond the rim: %+v", g.Right)
	}
}

func TestGazeErrors(t *testing.T) {
	a := newEyes(GenericPoseSolver(), 0, 0, RotationFromAngles(0, 0, 0), [3]float64{0, 0, 60})
	good, pose := a.draw(t), poseOf(a.turn, a.at)
	broken := func(indices ...int) [][3]float32 {
		points := append([][3]float32(nil), good...)
		for _, i := range indices {
			points[i][0] = float32(math.NaN())
		}
		return points
	}
	far := pose
	far.Z = math.Inf(1)
	for name, c := range map[string]struct {
		points [][3]float32
		camera Camera
		pose   Pose
		want   error
	}{
		"no camera":            {good, Camera{}, pose, ErrCamera},
		"no points":            {nil, testCamera, pose, ErrTopology},
		"no irises":            {good[:468], testCamera, pose, ErrTopology},
		"no pose":              {good, testCamera, Pose{}, ErrNoPose},
		"no angle":             {good, testCamera, Pose{Yaw: math.NaN(), Z: 60}, ErrNoPose},
		"endlessly far":        {good, testCamera, far, ErrNoPose},
		"irises are NaN":       {broken(468, 473), testCamera, pose, ErrNoGaze},
		"corners are NaN":      {broken(33, 362), testCamera, pose, ErrNoGaze},
		"lids are NaN":         {broken(159, 374), testCamera, pose, ErrNoGaze},
		"all in one place":     {make([][3]float32, 478), testCamera, pose, ErrNoGaze},
		"back of the head":     {good, testCamera, Pose{Yaw: 180, Z: 60}, ErrNoGaze},
		"somebody else's pose": {good, testCamera, Pose{Z: 6}, ErrNoGaze},
	} {
		if g, err := a.solver.Gaze().Solve(c.points, c.camera, c.pose); !errors.Is(err, c.want) || g.Direction != [3]float64{} {
			t.Errorf("%s: got %+v, %v; want %v", name, g, err, c.want)
		}
	}
	if g, err := a.solver.Gaze().Solve(broken(468), testCamera, pose); err != nil || g.Right.Valid || !g.Left.Valid {
		t.Errorf("one iris is NaN: %+v, %v; want the other eye's gaze", g, err)
	}
}

func TestGazeSolverRefusesModels(t *testing.T) {
	mirrored := make([][3]float64, 478)
	broken := make([][3]float64, 478)
	for _, m := range GenericPoseSolver().points {
		mirrored[m.index] = [3]float64{-m.at[0], -m.at[1], -m.at[2]}
		broken[m.index] = [3]float64{m.at[0], -m.at[1], -m.at[2]}
	}
	if _, err := NewGazeSolver(topology.MediaPipe, broken); err != nil {
		t.Fatal(err)
	}
	broken[362][1] = math.NaN()
	for name, mesh := range map[string][][3]float64{"empty": nil, "short": mirrored[:300], "mirrored": mirrored, "broken": broken, "one place": make([][3]float64, 478)} {
		if _, err := NewGazeSolver(topology.MediaPipe, mesh); !errors.Is(err, ErrModel) {
			t.Errorf("%s: got %v, want %v", name, err, ErrModel)
		}
	}
}

// TestPoseWithoutEyes: a mesh whose stable points are no eyes still carries a pose.
func TestPoseWithoutEyes(t *testing.T) {
	mesh := make([][3]float64, 20)
	set := &topology.Topology{Count: len(mesh), Eyes: topology.MediaPipe.Eyes}
	for i := range mesh {
		mesh[i] = [3]float64{float64(i % 3), float64(i % 4), float64(i % 5)}
		set.Stable = append(set.Stable, topology.Weighted{Index: i, Weight: 1})
	}
	s, err := NewPoseSolver(set, mesh)
	if err != nil || s.Gaze() != nil {
		t.Fatalf("%v, gaze %v", err, s.Gaze())
	}
	if o := (Options{Pose: s}).withDefaults(); o.Gaze != nil {
		t.Error("eyes of another head")
	}
}

// FuzzGaze wants finite unit directions, or an error.
func FuzzGaze(f *testing.F) {
	f.Add([]byte{}, 0.0, 0.0, 0.0, 60.0)
	f.Add([]byte{0, 250, 1, 3, 240, 240, 7, 250, 250}, 10.0, -20.0, 3.0, 40.0)
	f.Add([]byte{1, 2, 3}, math.NaN(), math.Inf(1), 1e300, 5.1)
	f.Fuzz(func(t *testing.T, data []byte, pitch, yaw, roll, z float64) { checkGaze(t, data, pitch, yaw, roll, z) })
}

// checkGaze moves the points of eyes by triples of bytes: which point, and by how much, or to what absurd place.
func checkGaze(t *testing.T, data []byte, pitch, yaw, roll, z float64) (valid int) {
	t.Helper()
	points := newEyes(GenericPoseSolver(), 0, 0, RotationFromAngles(0, 0, 0), [3]float64{0, 0, 60}).draw(t)
	indices := []int{33, 133, 362, 263, 159, 145, 386, 374, 468, 473}
	for ; len(data) >= 3; data = data[3:] {
		p := &points[indices[int(data[0])%len(indices)]]
		for k := range 2 {
			if b := data[1+k]; b >= 250 {
				p[k] = float32(absurd[int(data[0]+b)%len(absurd)])
			} else {
				p[k] += (float32(b) - 125) / 10
			}
		}
	}
	g, err := GenericPoseSolver().Gaze().Solve(points, testCamera, Pose{Pitch: pitch, Yaw: yaw, Roll: roll, Z: z})
	if (err == nil) != (g.Direction != [3]float64{}) {
		t.Fatalf("%+v with error %v", g, err)
	}
	for _, e := range []EyeGaze{g.Left, g.Right} {
		if e.Valid != (e.Direction != [3]float64{}) || e.Valid && math.Abs(dot3(e.Direction, e.Direction)-1) > 1e-9 || !(e.Openness >= 0) || math.IsInf(e.Openness, 0) {
			t.Fatalf("%+v", e)
		}
		if e.Valid {
			valid++
		}
	}
	return valid
}

// TestGazeSurvivesNoise is the fuzz target on random bytes, for every test run.
func TestGazeSurvivesNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	valid := 0
	for range 3000 {
		data := make([]byte, rng.IntN(40))
		for i := range data {
			data[i] = byte(rng.UintN(256))
		}
		valid += checkGaze(t, data, 60*rng.NormFloat64(), 60*rng.NormFloat64(), 60*rng.NormFloat64(), 100*rng.Float64())
	}
	if valid < 300 {
		t.Errorf("only %d eyes passed: the noise is too wild to test anything", valid)
	}
}

func BenchmarkGaze(b *testing.B) {
	a := newEyes(GenericPoseSolver(), 5, 10, RotationFromAngles(5, -20, 3), [3]float64{3, 2, 70})
	points, pose := a.draw(b), poseOf(a.turn, a.at)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.solver.Gaze().Solve(points, a.camera, pose); err != nil {
			b.Fatal(err)
		}
	}
}

// TestGazeOfTheWrongFieldOfView pins what the package comment says: gaze suffers as the head's angles do.
func TestGazeOfTheWrongFieldOfView(t *testing.T) {
	for _, c := range []struct{ x, limit float64 }{{0, 1}, {32, 7}} { // cm from the axis; 32 is near the border
		worst := 0.0
		for yaw := -20.0; yaw <= 20; yaw += 10 {
			for eyes := -20.0; eyes <= 20; eyes += 10 {
				a := newEyes(GenericPoseSolver(), eyes/2, eyes, RotationFromAngles(yaw/2, yaw, 0), [3]float64{c.x, 0, 60})
				a.camera.HFOVDegrees = 70
				points := a.draw(t)
				a.camera.HFOVDegrees = 60
				pose, err := a.solver.Solve(points, a.camera, nil)
				if err != nil {
					t.Fatal(err)
				}
				g, err := a.solver.Gaze().Solve(points, a.camera, pose)
				if err != nil {
					t.Fatal(err)
				}
				worst = max(worst, between(g.Direction, a.truth()))
			}
		}
		t.Logf("%g cm from the axis: worst %.2f°", c.x, worst)
		if worst > c.limit {
			t.Errorf("%g cm from the axis: off by %.2f°, documented as at most %g°", c.x, worst, c.limit)
		}
	}
}
