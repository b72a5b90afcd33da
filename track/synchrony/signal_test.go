package synchrony

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// signal is a value at a time in seconds.
type signal func(seconds float64) float64

// smooth is a sum of sines that never repeats, around 0.5, with a standard deviation of 0.15.
func smooth(seed uint64) signal {
	rng := rand.New(rand.NewPCG(seed, 1))
	const n = 12
	var f, phase [n]float64
	for i := range f {
		f[i], phase[i] = 0.15+1.2*rng.Float64(), 2*math.Pi*rng.Float64()
	}
	return func(t float64) float64 {
		sum := 0.0
		for i := range f {
			sum += math.Sin(2*math.Pi*f[i]*t + phase[i])
		}
		return 0.5 + 0.15*sum*math.Sqrt(2.0/n)
	}
}

// noisy adds white noise; it must be asked once per frame.
func noisy(s signal, deviation float64, seed uint64) signal {
	rng := rand.New(rand.NewPCG(seed, 2))
	return func(t float64) float64 { return s(t) + deviation*rng.NormFloat64() }
}

func delayed(s signal, by float64) signal { return func(t float64) float64 { return s(t - by) } }

// frame is what one side sends.
type frame struct {
	side   Side
	timeNS int64
	values []float64
}

const startNS = 5_000_000_000_000

// film samples signals, one a channel, at a rate with jitter (part of a period), from … to seconds.
func film(side Side, rate, jitter, from, to float64, signals ...signal) []frame {
	rng := rand.New(rand.NewPCG(uint64(rate*1000), uint64(side)))
	var out []frame
	for i := 0; ; i++ {
		t := from + float64(i)/rate
		if t >= to {
			return out
		}
		t += jitter / rate * (rng.Float64() - 0.5)
		f := frame{side: side, timeNS: startNS + int64(math.Round(t*1e9))}
		for _, s := range signals {
			f.values = append(f.values, s(t))
		}
		out = append(out, f)
	}
}

// play sends frames in order of time and returns copies of the results.
func play(t testing.TB, o Options, films ...[]frame) ([]Result, *Pair) {
	t.Helper()
	var out []Result
	p, err := New(o, func(r Result) {
		r.Channels = slices.Clone(r.Channels)
		out = append(out, r)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range merge(films...) {
		if err := p.Add(f.side, f.timeNS, f.values); err != nil {
			t.Fatal(err)
		}
	}
	return out, p
}

func merge(films ...[]frame) []frame {
	all := slices.Concat(films...)
	slices.SortStableFunc(all, func(a, b frame) int { return int(a.timeNS - b.timeNS) })
	return all
}

func one() Options { return Options{Channels: []int{0}} }

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %.6g, want %.6g ± %.2g", what, got, want, tolerance)
	}
}
