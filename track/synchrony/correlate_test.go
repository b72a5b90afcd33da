package synchrony

import (
	"math"
	"math/rand/v2"
	"testing"
)

// plainly is r(k) by its definition.
func plainly(a, b []float64, n, k, enough int, deviation float64) float64 {
	var x, y []float64
	for i := range n {
		u, v := a[i+max(0, -k)], b[i+max(0, k)]
		if !math.IsNaN(u + v) {
			x, y = append(x, u), append(y, v)
		}
	}
	if len(x) < enough {
		return math.NaN()
	}
	mx, my := mean(x), mean(y)
	var sxx, syy, sxy float64
	for i := range x {
		sxx += (x[i] - mx) * (x[i] - mx)
		syy += (y[i] - my) * (y[i] - my)
		sxy += (x[i] - mx) * (y[i] - my)
	}
	if least := float64(len(x)) * deviation * deviation; sxx <= least || syy <= least {
		return math.NaN()
	}
	return sxy / math.Sqrt(sxx*syy)
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

func TestCorrelatorAgainstDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	numbers, none := 0, 0
	for range 300 {
		n, lag := 8+rng.IntN(60), rng.IntN(20)
		c := newCorrelator(n, lag, 3+rng.IntN(n-3), 0.2)
		a, b := random(rng, n+lag), random(rng, n+lag)
		c.run(a, b)
		for k := -lag; k <= lag; k++ {
			got, want := c.r[lag+k], plainly(a, b, n, k, c.enough, c.deviation)
			if math.IsNaN(want) {
				none++
			} else {
				numbers++
			}
			if math.IsNaN(got) != math.IsNaN(want) || math.Abs(got-want) > 1e-9 {
				t.Fatalf("n = %d, lag %d: %g, want %g", n, k, got, want)
			}
		}
	}
	if numbers < 1000 || none < 1000 {
		t.Errorf("%d numbers and %d without", numbers, none)
	}
}

// random is a walk of a random step, with a random part missing.
func random(rng *rand.Rand, n int) []float64 {
	out := make([]float64, n)
	x, step, missing := 5*rng.NormFloat64(), 0.3*rng.Float64(), 0.4*rng.Float64()
	for i := range out {
		x += step * rng.NormFloat64()
		out[i] = x
		if rng.Float64() < missing {
			out[i] = math.NaN()
		}
	}
	return out
}

func TestPeaks(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		r                []float64
		span             int
		nearest, highest int
	}{
		{[]float64{0, 0.1, 0.2, 0.5, 0.2, 0.1, 0}, 1, 3, 3},
		{[]float64{0.9, 0.5, 0.1, 0.2, 0.3, 0.1, 0}, 1, 4, 4},             // not the edge
		{[]float64{0, 0.4, 0, -0.1, 0, 0.3, 0}, 1, 1, 1},                  // as near: the higher one
		{[]float64{0, 0.4, 0, -0.1, 0.2, 0.1, 0}, 1, 4, 1},                // a higher one further away
		{[]float64{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6}, 1, -1, -1},           // rises to the edge
		{[]float64{0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5}, 1, -1, -1},         // flat
		{[]float64{0, 0.4, nan, 0.5, 0.1, 0, -0.1}, 1, -1, -1},            // unknown on one side
		{[]float64{-0.9, -0.8, -0.7, -0.2, -0.7, -0.8, -0.9}, 3, 3, 3},    // negative
		{[]float64{0.3, 0, 0.1, 0.2, 0.1, 0.3, 0}, 3, -1, -1},             // too narrow for the span
		{[]float64{-0.1, 0, 0.2, 0.2, 0.1, 0, -0.1, -0.2, -0.3}, 2, 3, 2}, // a ledge: refined, its end is higher
		{[]float64{nan, nan, nan, nan, nan, nan, nan}, 1, -1, -1},
	} {
		if nearest, highest := peaks(c.r, c.span); nearest != c.nearest || highest != c.highest {
			t.Errorf("%v: nearest %d, highest %d", c.r, nearest, highest)
		}
	}
	// 1 - (x-2.3)²/10
	height, place := refine([]float64{0, 0.831, 0.991, 0.951, 0}, 2)
	near(t, "height", height, 1, 1e-9)
	near(t, "place", place, 2.3, 1e-9)
}

// The filter is exact on parabolas; a missing sample reaches its half length.
func TestDifferentiate(t *testing.T) {
	x, out := make([]float64, 26), make([]float64, 20)
	for i := range x {
		s := float64(i) / 30
		x[i] = 0.2 + 0.7*s - 0.4*s*s
	}
	differentiate(out, x, 3, 30)
	for i, v := range out {
		near(t, "slope", v, 0.7-0.8*float64(i+3)/30, 1e-9)
	}
	x[10] = math.NaN()
	differentiate(out, x, 3, 30)
	for i, v := range out {
		if missing := i >= 4 && i <= 10; missing != math.IsNaN(v) && i != 7 {
			t.Errorf("%d: %g", i, v)
		}
	}
}

func TestAverage(t *testing.T) {
	nan := math.NaN()
	out := make([]float64, 5)
	average(out, []float64{1, 2, 3, nan, nan, 6, 9}, 3, 2)
	for i, want := range []float64{2, 2.5, nan, nan, 7.5} {
		if math.IsNaN(want) != math.IsNaN(out[i]) || math.Abs(out[i]-want) > 1e-12 {
			t.Errorf("%v", out)
		}
	}
}
