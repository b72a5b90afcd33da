package track

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"facetrack/internal/testutil"
)

// portrait reads the published landmarks of a photo of 820×1024 px.
func portrait(t *testing.T) ([][3]float32, Camera) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testutil.Assets(t), "golden", "portrait_expected_face_landmarks.pbtxt"))
	if err != nil {
		t.Fatal(err)
	}
	camera := Camera{Width: 820, Height: 1024, HFOVDegrees: 30}
	var points [][3]float32
	for _, m := range regexp.MustCompile(`x: (\S+)\s+y: (\S+)`).FindAllStringSubmatch(string(text), -1) {
		x, errX := strconv.ParseFloat(m[1], 64)
		y, errY := strconv.ParseFloat(m[2], 64)
		if errX != nil || errY != nil {
			t.Fatal(errX, errY)
		}
		points = append(points, [3]float32{float32(x * 820), float32(y * 1024), 0})
	}
	return points, camera
}

// TestPoseOfAPortrait: on a real face both heads agree, and roll is the slope of the eyes.
func TestPoseOfAPortrait(t *testing.T) {
	points, camera := portrait(t)
	generic, err := GenericPoseSolver().Solve(points, camera, nil)
	if err != nil {
		t.Fatal(err)
	}
	canonical, err := canonicalSolver(t).Solve(points, camera, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("generic %+v, canonical %+v", generic, canonical)
	if d := turnBetween(generic.Rotation(), canonical.Rotation()); d > 3 {
		t.Errorf("the two heads differ by %.2f°, want ≤ 3°", d)
	}
	right, left := points[33], points[263]
	slope := -math.Atan2(float64(left[1]-right[1]), float64(left[0]-right[0])) * 180 / math.Pi
	for name, p := range map[string]Pose{"generic": generic, "canonical": canonical} {
		if math.Abs(p.Roll-slope) > 2 || math.Abs(p.Yaw) > 15 || math.Abs(p.Pitch) > 15 {
			t.Errorf("%s: %+v, want a nearly frontal face with roll %.1f°", name, p, slope)
		}
		if size := float64(points[454][0] - points[234][0]); p.RMS > 0.05*size {
			t.Errorf("%s: RMS %.1f px for a face %.0f px wide", name, p.RMS, size)
		}
	}
}

// TestGazeOfAPortrait: who looks into the lens has a gaze that points at it, within what the package comment says.
func TestGazeOfAPortrait(t *testing.T) {
	points, camera := portrait(t)
	solvers(t, func(t *testing.T, s *PoseSolver) {
		pose, err := s.Solve(points, camera, nil)
		if err != nil {
			t.Fatal(err)
		}
		g, err := s.Gaze().Solve(points, camera, pose)
		if err != nil || !g.Left.Valid || !g.Right.Valid {
			t.Fatalf("%+v, %v", g, err)
		}
		middle := [3]float64{}
		for k := range middle {
			middle[k] = -(g.Left.Origin[k] + g.Right.Origin[k])
		}
		lens, _ := normalized(middle)
		t.Logf("%.1f° from the lens, left eye %.1f°, right eye %.1f°", between(g.Direction, lens), between(g.Left.Direction, lens), between(g.Right.Direction, lens))
		if e := between(g.Direction, lens); e > 6 {
			t.Errorf("gaze %+v is %.1f° from the lens", g, e)
		}
		if apart := g.Left.Origin[0] - g.Right.Origin[0]; math.Abs(apart-6.3) > 0.6 {
			t.Errorf("eyes %.2f cm apart, want about 6.3", apart)
		}
	})
}
