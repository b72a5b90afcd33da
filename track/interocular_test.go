package track

import (
	"math"
	"testing"
)

// interocular is the distance between the middles of a model's eyes, mm.
func interocular(t *testing.T, s *PoseSolver) float64 {
	t.Helper()
	at := map[int][3]float64{}
	for _, p := range s.points {
		at[p.index] = p.at
	}
	var square float64
	for k := range 3 {
		right, left := (at[33][k]+at[133][k])/2, (at[263][k]+at[362][k])/2
		square += (left - right) * (left - right)
	}
	return 10 * math.Sqrt(square)
}

func TestModelInterocular(t *testing.T) {
	if got := interocular(t, GenericPoseSolver()); math.Abs(got-62.5) > 0.05 {
		t.Errorf("generic head: %.2f mm", got)
	}
}

func TestModelInterocularOfTheCanonicalMesh(t *testing.T) {
	if got := interocular(t, canonicalSolver(t)); math.Abs(got-ModelInterocularMM) > 0.05 {
		t.Errorf("canonical mesh: %.2f mm, the constant says %.1f", got, ModelInterocularMM)
	}
}
