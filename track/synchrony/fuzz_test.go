package synchrony

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
)

var absurd = []float64{
	0, 1, -1, 1e-300, 1e-9, 999, -999, 1e5, 1e300, -1e300, math.MaxFloat64,
	math.SmallestNonzeroFloat64, math.Inf(1), math.Inf(-1), math.NaN(),
}

// short has windows that a few frames fill.
func short() Options {
	return Options{
		Channels: []int{0, 2}, WindowSeconds: 0.4, StepSeconds: 0.1, MaxLagSeconds: 0.2, PeakSpanSeconds: 0.04, MinValid: 0.5,
		DerivativeSeconds: 0.1, BaselineSeconds: 0.2, SustainedSeconds: 0.4,
		MaxGapSeconds: 0.15, WaitSeconds: 0.2,
	}
}

// feed turns bytes into frames, most of them plausible, and checks every result. It returns how many
// correlations were numbers.
func feed(t *testing.T, data []byte) (numbers int) {
	t.Helper()
	var p *Pair
	lastNS := int64(math.MinInt64)
	p, err := New(short(), func(r Result) {
		if r.FromNS < lastNS || r.ToNS <= r.FromNS {
			t.Fatalf("%d … %d after %d", r.FromNS, r.ToNS, lastNS)
		}
		lastNS = r.FromNS
		numbers += check(t, r)
	})
	if err != nil {
		t.Fatal(err)
	}
	room := cap(p.sides[A].rows[0])
	next := func() byte {
		if len(data) == 0 {
			return 0
		}
		b := data[0]
		data = data[1:]
		return b
	}
	number := func() float64 {
		if b := next(); b < 240 {
			return float64(b) / 240
		}
		return absurd[int(next())%len(absurd)]
	}
	now := int64(1e9)
	for len(data) > 0 {
		kind := next()
		step := int64(kind>>1) * 300e3
		if kind >= 250 {
			var stamp [8]byte
			for i := range stamp {
				stamp[i] = next()
			}
			step = int64(binary.LittleEndian.Uint64(stamp[:])) >> (8 * (kind - 250)) //nolint:gosec // any bit pattern is wanted
		}
		at := now + step
		if kind < 250 {
			now = at
		}
		if kind == 249 {
			p.Advance(at)
			continue
		}
		values := []float64{number(), number(), number()}
		if kind == 248 {
			values = nil
		}
		if err := p.Add(Side(kind&1), at, values); err != nil {
			t.Fatal(err)
		}
	}
	if cap(p.sides[A].rows[0]) != room || cap(p.sides[B].rows[0]) != room {
		t.Fatal("memory grew")
	}
	return numbers
}

// check wants finite numbers or NaN, correlations within ±1 and lags within the range.
func check(t *testing.T, r Result) (numbers int) {
	t.Helper()
	for _, s := range append([]Synchrony{r.Mean}, r.Channels...) {
		for _, l := range []Lagged{s.Value, s.Transient, {R: s.Sustained.R, Valid: s.Sustained.Valid}} {
			for _, c := range []float64{l.R, l.Nearest.R, l.Highest.R} {
				if math.Abs(c) > 1 {
					t.Fatalf("%+v", s)
				}
			}
			for _, p := range []Peak{l.Nearest, l.Highest} {
				if math.Abs(p.LagSeconds) > 0.2 || math.IsNaN(p.R) != math.IsNaN(p.LagSeconds) || p.R > l.Highest.R {
					t.Fatalf("%+v", s)
				}
			}
			if l.Valid < 0 || l.Valid > 12 {
				t.Fatalf("%+v", s)
			}
			if !math.IsNaN(l.R) {
				numbers++
			}
		}
	}
	return numbers
}

func FuzzPair(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{250, 255, 255, 255, 255, 255, 255, 255, 63, 1, 2, 3, 100, 1, 2, 3, 101, 4, 5, 6})
	f.Add(noise(rand.New(rand.NewPCG(1, 1)), 600))
	f.Fuzz(func(t *testing.T, data []byte) { feed(t, data) })
}

// TestPairSurvivesNoise is the fuzz target on random bytes, for every test run.
func TestPairSurvivesNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	numbers := 0
	for range 300 {
		numbers += feed(t, noise(rng, rng.IntN(4000)))
	}
	if numbers < 1000 {
		t.Errorf("only %d numbers: the noise is too wild to test anything", numbers)
	}
}

// noise has few of the bytes that mean something special.
func noise(rng *rand.Rand, n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(rng.UintN(256))
		if rng.IntN(20) > 0 {
			data[i] %= 240
		}
	}
	return data
}
