package track

import (
	"math"
	"testing"
)

func boxCandidate(x, y, size float64) *candidate {
	return newCandidate(0, &Face{Box: [4]float64{x - size/2, y - size/2, size, size}})
}

// TestMotionPredictsConstantVelocity: after half a second of 3 px per frame, the next frame is known.
func TestMotionPredictsConstantVelocity(t *testing.T) {
	const dt = 1.0 / 30
	m := newMotion(boxCandidate(100, 50, 80))
	for i := 1; i < 16; i++ {
		m = m.ahead(dt)
		m.correct(boxCandidate(100+3*float64(i), 50-float64(i), 80*math.Pow(1.01, float64(i))))
	}
	next := m.ahead(dt)
	if math.Abs(next.x.x-148) > 1 || math.Abs(next.y.x-34) > 1 || math.Abs(next.size()-80*math.Pow(1.01, 16)) > 1 {
		t.Errorf("predicts (%.1f, %.1f) of size %.1f, want (148, 34) of size %.1f", next.x.x, next.y.x, next.size(), 80*math.Pow(1.01, 16))
	}
}

func TestMotionUncertaintyGrowsThenStops(t *testing.T) {
	m := newMotion(boxCandidate(100, 50, 80))
	for i := 1; i < 30; i++ {
		m = m.ahead(1.0 / 30)
		m.correct(boxCandidate(100+3*float64(i), 50, 80))
	}
	last := 0.0
	for _, gap := range []float64{0.03, 0.1, 0.3, 1, 1.5} {
		p := m.ahead(gap).x
		if sigma := math.Sqrt(p.pxx) / 80; !(sigma > last) || p.pxx*p.pvv < p.pxv*p.pxv {
			t.Errorf("after %g s: σ = %.3f face sizes after %.3f, covariance %+v", gap, sigma, last, p)
		} else {
			last = sigma
		}
	}
	if last > 5 {
		t.Errorf("σ reaches %.1f face sizes, want a plausible few", last)
	}
	far := m.ahead(1000)
	if sigma := math.Sqrt(far.x.pxx) / 80; sigma > 5 || math.Abs(far.x.x-m.x.x) > 3*30*dampingSeconds*1.2 {
		t.Errorf("after 1000 s: at %.0f px with σ = %.1f face sizes, want it to have stopped", far.x.x, sigma)
	}
}
