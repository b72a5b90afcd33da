package synchrony

import (
	"math"
	"testing"
)

// separate makes windows that share no sample.
func separate() Options {
	return Options{Channels: []int{0}, StepSeconds: 5, MaxLagSeconds: 0.5, MinValid: 0.9}
}

// A sine of amplitude a in white noise of deviation σ on both sides has r(τ) = ρ·cos ωτ with
// ρ = (a²/2) / (a²/2+σ²). The derivative filter has the gain g at ω and lets through the variance σ²·h2,
// h2 the sum of its squared weights: ρ' = (g·a)²/2 / ((g·a)²/2 + σ²·h2).
func TestSineInNoise(t *testing.T) {
	const a, f, seconds, rate = 0.2, 0.8, 3000, 30.0
	omega := 2 * math.Pi * f
	gain, h2 := 0.0, 0.0
	for j := -3; j <= 3; j++ {
		w := float64(j) * rate / 28
		gain += w * math.Sin(omega*float64(j)/rate)
		h2 += w * w
	}
	for _, sigma := range []float64{0.02, 0.1, 0.2} {
		for _, lag := range []float64{0, 0.1} {
			sine := func(t float64) float64 { return 0.5 + a*math.Sin(omega*t) }
			results, _ := play(t, separate(),
				film(A, rate, 0, 0, seconds, noisy(sine, sigma, 1)), film(B, rate, 0, 0, seconds, noisy(delayed(sine, lag), sigma, 2)))
			values, derivatives := 0.0, 0.0
			for _, r := range results {
				values += r.Channels[0].Value.R
				derivatives += r.Channels[0].Transient.R
			}
			n := float64(len(results))
			power, speed := a*a/2, gain*gain*a*a/2
			// Averages of 600 windows; r is biased towards 0 by some ρ(1-ρ²)/2n.
			near(t, "values", values/n, power/(power+sigma*sigma)*math.Cos(omega*lag), 0.012)
			near(t, "derivatives", derivatives/n, speed/(speed+sigma*sigma*h2)*math.Cos(omega*lag), 0.025)
		}
	}
}

// r of independent white noise in n samples has mean 0 and variance 1/(n-1).
func TestIndependentNoise(t *testing.T) {
	half := func(float64) float64 { return 0.5 }
	results, _ := play(t, separate(),
		film(A, 30, 0, 0, 5000, noisy(half, 0.1, 3)), film(B, 30, 0, 0, 5000, noisy(half, 0.1, 4)))
	sum, squares, large := 0.0, 0.0, 0
	for _, r := range results {
		v := r.Channels[0].Value.R
		sum += v
		squares += v * v
		if math.Abs(v) > 1.96/math.Sqrt(149) {
			large++
		}
	}
	n := float64(len(results))
	near(t, "mean", sum/n, 0, 4/math.Sqrt(149*n))
	near(t, "variance", squares/n*149, 1, 4*math.Sqrt(2/n))
	near(t, "beyond 5 %", float64(large)/n, 0.05, 0.03)
}

// Slow levels are found by the sustained measure through fast movements that have nothing in common.
func TestSustained(t *testing.T) {
	slow := func(t float64) float64 { return 0.2 * math.Sin(2*math.Pi*t/60) }
	mixed := func(seed uint64, sign float64) signal {
		fast := smooth(seed)
		return func(t float64) float64 { return fast(t) + sign*slow(t) }
	}
	for _, sign := range []float64{1, -1} {
		results, _ := play(t, one(), film(A, 30, 0.2, 0, 120, mixed(1, 1)), film(B, 25, 0.2, 0, 120, mixed(2, sign)))
		numbers := 0
		for _, r := range results {
			s := r.Channels[0].Sustained
			// The first baseline is there with 8 of its 10 s, the first number with 24 of 30 s of those.
			if enough := float64(r.ToNS-startNS)/1e9 >= 32; enough == math.IsNaN(s.R) {
				t.Errorf("%.2f s: %+v", float64(r.ToNS-startNS)/1e9, s)
			}
			if !math.IsNaN(s.R) {
				numbers++
				if s.R*sign < 0.8 {
					t.Errorf("%.2f s: %+v, want %g", float64(r.ToNS-startNS)/1e9, s, sign)
				}
			}
		}
		if numbers < 200 {
			t.Errorf("%d numbers", numbers)
		}
	}
}
