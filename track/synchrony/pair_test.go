package synchrony

import (
	"fmt"
	"math"
	"testing"
)

// A shifted copy has a peak of 1 at its shift, of values and derivatives, whatever the cameras' rates.
func TestShiftedCopies(t *testing.T) {
	for _, lag := range []float64{0, 0.1, -0.1, 0.5, -0.8137, 1.2345, 0.0171} {
		for _, rates := range [][2]float64{{30, 30}, {25, 30}, {60, 50}, {29.97, 60}} {
			t.Run(fmt.Sprint(lag, rates), func(t *testing.T) {
				s := smooth(7)
				results, _ := play(t, one(),
					film(A, rates[0], 0.3, 0, 40, s), film(B, rates[1], 0.3, 0.0123, 40, delayed(s, lag)))
				if len(results) < 95 {
					t.Fatalf("%d results", len(results))
				}
				for _, r := range results {
					for _, l := range []Lagged{r.Channels[0].Value, r.Channels[0].Transient} {
						near(t, "highest peak", l.Highest.R, 1, 0.01)
						near(t, "its lag", l.Highest.LagSeconds, lag, 0.006)
						if math.Abs(lag) < 0.2 && l.Nearest != l.Highest || math.Abs(l.Nearest.LagSeconds) > math.Abs(l.Highest.LagSeconds) {
							t.Errorf("nearest peak %+v", l.Nearest)
						}
					}
				}
			})
		}
	}
}

// Exchanging the sides negates lags and changes nothing else.
func TestSidesAreSymmetric(t *testing.T) {
	s, u := noisy(smooth(3), 0.02, 1), noisy(delayed(smooth(3), 0.4), 0.02, 2)
	a, b := film(A, 30, 0, 0, 30, s), film(B, 30, 0, 0, 30, u)
	straight, _ := play(t, one(), a, b)
	for i := range a {
		a[i].side, b[i].side = B, A
	}
	crossed, _ := play(t, one(), a, b)
	for i, r := range straight {
		x, y := r.Channels[0].Value, crossed[i].Channels[0].Value
		near(t, "R", x.R, y.R, 1e-9)
		near(t, "peak", x.Nearest.R, y.Nearest.R, 1e-9)
		near(t, "lag", x.Nearest.LagSeconds, -y.Nearest.LagSeconds, 1e-9)
	}
}

// Of a sine's many maxima the nearest to lag 0 counts.
func TestNearestPeak(t *testing.T) {
	sine := func(t float64) float64 { return 0.5 + 0.3*math.Sin(2*math.Pi*t) }
	for _, lag := range []float64{0.3, -0.3, 0.7} {
		results, _ := play(t, one(), film(A, 30, 0, 0, 20, sine), film(B, 30, 0, 0, 20, delayed(sine, lag)))
		for _, r := range results {
			near(t, "lag", r.Channels[0].Value.Nearest.LagSeconds, lag-math.Round(lag), 0.003)
			near(t, "peak", r.Channels[0].Value.Nearest.R, 1, 1e-3)
			near(t, "R", r.Channels[0].Value.R, math.Cos(2*math.Pi*lag), 1e-6)
		}
	}
}

// Channels are compared one by one, in the order of the options; the mean is a series of its own.
func TestChannelsAndMean(t *testing.T) {
	s, u := smooth(1), smooth(2)
	negative := func(t float64) float64 { return 1 - u(t) }
	o := Options{Channels: []int{2, 0}}
	results, _ := play(t, o, film(A, 30, 0, 0, 20, u, s, s), film(B, 30, 0, 0, 20, negative, s, s))
	for _, r := range results {
		near(t, "first", r.Channels[0].Value.R, 1, 1e-9)
		near(t, "second", r.Channels[1].Value.R, -1, 1e-9)
	}
	both := func(t float64) float64 { return (s(t) + u(t)) / 2 }
	other := func(t float64) float64 { return (s(t) + negative(t)) / 2 }
	want, _ := play(t, one(), film(A, 30, 0, 0, 20, both), film(B, 30, 0, 0, 20, other))
	for i, r := range results {
		near(t, "mean", r.Mean.Value.R, want[i].Channels[0].Value.R, 1e-9)
		near(t, "mean of one channel", want[i].Mean.Value.R, want[i].Channels[0].Value.R, 1e-12)
	}
}

// Windows are where they should be, and a result leaves with the frame that completes it.
func TestTimesAndLatency(t *testing.T) {
	var results []Result
	p, err := New(one(), func(r Result) { results = append(results, r) })
	if err != nil {
		t.Fatal(err)
	}
	s := smooth(1)
	for i, f := range merge(film(A, 30, 0, 0, 12, s), film(B, 30, 0, 0, 12, s)) {
		before := len(results)
		if err := p.Add(f.side, f.timeNS, f.values); err != nil {
			t.Fatal(err)
		}
		if len(results) == before {
			continue
		}
		r := results[before]
		window, late := float64(r.ToNS-r.FromNS)/1e9, float64(f.timeNS-r.ToNS)/1e9
		near(t, "window", window, 5, 1e-6)
		near(t, "latency", late, (60+3-1)/30.0, 1e-6)
		near(t, "start", float64(r.FromNS-startNS)/1e9, float64(before)/3, 1e-6)
		if f.side != B || r.Channels[0].Value.Valid != 150 {
			t.Errorf("frame %d: %d valid", i, r.Channels[0].Value.Valid)
		}
	}
	if want := 1 + (12*30-150-63)/10; len(results) != want {
		t.Errorf("%d results, want %d", len(results), want)
	}
}
