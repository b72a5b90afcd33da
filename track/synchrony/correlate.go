package synchrony

import "math"

// correlator computes r at all lags -lag … lag of a window of n samples. Per lag that is one sum of
// products: sums and squares come from running totals, less what has no partner.
type correlator struct {
	n, lag, enough int
	deviation      float64
	a, b           segment
	r              []float64 // r[lag+k] belongs to lag k
	valid          int       // pairs at lag 0
}

func newCorrelator(n, lag, enough int, deviation float64) *correlator {
	return &correlator{
		n: n, lag: lag, enough: enough, deviation: deviation,
		a: newSegment(n + lag), b: newSegment(n + lag), r: make([]float64, 2*lag+1),
	}
}

// run takes n+lag samples of both sides.
func (c *correlator) run(a, b []float64) {
	c.a.load(a)
	c.b.load(b)
	for k := -c.lag; k <= c.lag; k++ {
		r, pairs := c.at(k)
		c.r[c.lag+k] = r
		if k == 0 {
			c.valid = pairs
		}
	}
}

// at is r(k) and the number of pairs, which is only exact where there could be enough or k is 0.
func (c *correlator) at(k int) (float64, int) {
	i, j := max(0, -k), max(0, k)
	a, b := c.a.total(i, c.n), c.b.total(j, c.n)
	if k != 0 && min(a.count, b.count) < c.enough {
		return math.NaN(), 0
	}
	for _, q := range c.b.gaps(j, c.n) {
		a.remove(&c.a, q-j+i)
	}
	for _, q := range c.a.gaps(i, c.n) {
		b.remove(&c.b, q-i+j)
	}
	if a.count < c.enough {
		return math.NaN(), a.count
	}
	x, y := c.a.values[i:i+c.n], c.b.values[j:j+c.n]
	pairs := float64(a.count)
	covariance := dot(x, y) - a.sum*b.sum/pairs
	va, vb := c.spread(a, &c.a), c.spread(b, &c.b)
	return clamp(covariance / (math.Sqrt(va) * math.Sqrt(vb))), a.count
}

// rounding is the part of a running total's end that may be an error of rounding.
const rounding = 1e-10

// spread is the sum of squared deviations from the mean; NaN if that is too little to tell from rest.
func (c *correlator) spread(t total, s *segment) float64 {
	pairs := float64(t.count)
	v := t.squares - t.sum*t.sum/pairs
	if v > pairs*c.deviation*c.deviation && v > rounding*s.squares[len(s.values)] {
		return v
	}
	return math.NaN()
}

// clamp undoes rounding beyond ±1; NaN stays.
func clamp(r float64) float64 {
	if r > 1 {
		return 1
	}
	if r < -1 {
		return -1
	}
	return r
}

// dot is the inner product of two slices of the same length. Four sums do not wait for each other.
func dot(x, y []float64) float64 {
	y = y[:len(x)]
	var s0, s1, s2, s3 float64
	i := 0
	for ; i+4 <= len(x); i += 4 {
		u, v := x[i:i+4:i+4], y[i:i+4:i+4]
		s0 += u[0] * v[0]
		s1 += u[1] * v[1]
		s2 += u[2] * v[2]
		s3 += u[3] * v[3]
	}
	for ; i < len(x); i++ {
		s0 += x[i] * y[i]
	}
	return s0 + s1 + s2 + s3
}
