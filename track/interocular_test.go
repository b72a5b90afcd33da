package track

import (
	"math"
	"testing"

	"facetrack/topology"
)

// interocular is the distance between the middles of a model's eyes, mm.
func interocular(s *PoseSolver) float64 {
	var square float64
	right, left := s.gaze.right, s.gaze.left
	for k := range 3 {
		d := (left.outerAt[k] + left.innerAt[k] - right.outerAt[k] - right.innerAt[k]) / 2
		square += d * d
	}
	return 10 * math.Sqrt(square)
}

func TestModelInterocular(t *testing.T) {
	if got := interocular(GenericPoseSolver()); math.Abs(got-62.5) > 0.05 {
		t.Errorf("generic head: %.2f mm", got)
	}
	if got := interocular(ownSolver(t)); math.Abs(got-topology.ICT.InterocularMM) > 0.05 {
		t.Errorf("own points: %.2f mm, the set says %.1f", got, topology.ICT.InterocularMM)
	}
}

func TestModelInterocularOfTheCanonicalMesh(t *testing.T) {
	if got := interocular(canonicalSolver(t)); math.Abs(got-topology.MediaPipe.InterocularMM) > 0.05 {
		t.Errorf("canonical mesh: %.2f mm, the set says %.1f", got, topology.MediaPipe.InterocularMM)
	}
}
