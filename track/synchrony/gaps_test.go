package synchrony

import (
	"math"
	"testing"
)

func without(frames []frame, from, to float64) (out []frame) {
	for _, f := range frames {
		if t := float64(f.timeNS-startNS) / 1e9; t < from || t >= to {
			out = append(out, f)
		}
	}
	return out
}

// A missing stretch leaves the correlation of what is there, until too little is; values that are no
// scores, absent faces and absent frames are the same.
func TestGaps(t *testing.T) {
	s := smooth(5)
	a := film(A, 30, 0, 0, 30, s)
	whole := film(B, 30, 0, 0, 30, s)
	absent := without(whole, 10, 13)
	bad := []float64{math.NaN(), math.Inf(-1), math.Inf(1), -1e6, 1e6}
	hidden, faceless := film(B, 30, 0, 0, 30, s), film(B, 30, 0, 0, 30, s)
	for i, f := range whole {
		if t := float64(f.timeNS-startNS) / 1e9; t >= 10 && t < 13 {
			hidden[i].values, faceless[i].values = []float64{bad[i%len(bad)]}, nil
		}
	}
	for _, b := range [][]frame{absent, hidden, faceless} {
		results, _ := play(t, one(), a, b)
		numbers, none := 0, 0
		for _, r := range results {
			from, to := float64(r.FromNS-startNS)/1e9, float64(r.ToNS-startNS)/1e9
			overlap := 30 * max(0, min(13, to)-max(10, from))
			v := r.Channels[0].Value
			near(t, "valid", float64(v.Valid), 150-overlap, 2)
			switch {
			case v.Valid < 120 && math.IsNaN(v.R):
				none++
			case v.Valid >= 120 && math.Abs(v.R-1) < 1e-9:
				numbers++
			default:
				t.Errorf("%d valid samples: r = %g", v.Valid, v.R)
			}
		}
		if none < 15 || numbers < 40 {
			t.Errorf("%d windows with a number, %d without", numbers, none)
		}
	}
}

// Only distances up to the limit are bridged.
func TestInterpolationLimit(t *testing.T) {
	s := smooth(5)
	for _, c := range []struct {
		rate  float64
		valid int
	}{{4.5, 150}, {3.5, 0}} {
		results, _ := play(t, one(), film(A, 30, 0, 0, 20, s), film(B, c.rate, 0, 0.01, 20, s))
		for _, r := range results[1:] {
			if v := r.Channels[0].Value.Valid; v != c.valid {
				t.Fatalf("at %g Hz %d samples are valid", c.rate, v)
			}
		}
	}
}

// What does not move has no correlation, not even with itself.
func TestConstantSignals(t *testing.T) {
	still := func(float64) float64 { return 0.3 }
	for _, c := range []struct {
		a, b signal
	}{{still, still}, {smooth(1), still}, {noisy(still, 0.004, 1), smooth(1)}} {
		results, _ := play(t, one(), film(A, 30, 0.2, 0, 50, c.a), film(B, 30, 0.2, 0, 50, c.b))
		for _, r := range results {
			m := r.Channels[0]
			v, d := m.Value, m.Transient
			for _, x := range []float64{v.R, v.Nearest.R, v.Highest.LagSeconds, d.R, d.Highest.R, m.Sustained.R} {
				if !math.IsNaN(x) {
					t.Fatalf("made up: %+v", m)
				}
			}
		}
	}
}

// While one side is silent results go on without numbers, and come back with it.
func TestOneSideStops(t *testing.T) {
	s := smooth(5)
	results, p := play(t, one(), film(A, 30, 0, 0, 60, s), without(film(B, 30, 0, 0, 60, s), 20, 40))
	last := startNS - int64(1e9)/3
	for _, r := range results {
		near(t, "step", float64(r.FromNS-last)/1e9, 1.0/3, 1e-6)
		last = r.FromNS
		from, to := float64(r.FromNS-startNS)/1e9, float64(r.ToNS-startNS)/1e9
		there := max(0, 20-from) + max(0, to-40) // of 5 s
		if v := r.Channels[0].Value; there > 4.1 && !(v.R > 0.99) || there < 3.9 && !math.IsNaN(v.R) {
			t.Errorf("%.1f … %.1f s: %+v", from, to, v)
		}
	}
	if want := 1 + (60*30-150-63)/10; len(results) != want || p.Stats() != (Stats{}) {
		t.Errorf("%d results, want %d; %+v", len(results), want, p.Stats())
	}
}

// A side that never comes makes results without numbers, Wait later.
func TestOneSideNeverComes(t *testing.T) {
	results, _ := play(t, one(), film(A, 30, 0, 0, 10, smooth(1)))
	if want := 1 + (300-15-150-63)/10; len(results) != want || !math.IsNaN(results[0].Mean.Value.R) {
		t.Errorf("%d results, want %d: %+v", len(results), want, results)
	}
}

func TestOrderAndLateness(t *testing.T) {
	s := smooth(5)
	a, b := film(A, 30, 0, 0, 20, s), film(B, 30, 0, 0, 20, s)
	want, _ := play(t, one(), a, b)
	var got []Result
	p, err := New(one(), func(r Result) { got = append(got, Result{FromNS: r.FromNS, Mean: r.Mean}) })
	if err != nil {
		t.Fatal(err)
	}
	send := func(f frame) {
		t.Helper()
		if err := p.Add(f.side, f.timeNS, f.values); err != nil {
			t.Fatal(err)
		}
	}
	for i := range a {
		send(a[i])
		if i >= 10 { // B comes a third of a second later
			send(b[i-10])
			send(frame{B, b[i-10].timeNS, []float64{0.9}})
			send(frame{B, b[i-10].timeNS - 7, []float64{0.9}})
			send(frame{B, -7, []float64{0.9}})
			send(frame{B, math.MaxInt64, []float64{0.9}})
		}
	}
	for i, r := range got {
		near(t, "R", r.Mean.Value.R, want[i].Mean.Value.R, 1e-12)
	}
	if len(got) != len(want)-1 {
		t.Errorf("%d results, want %d", len(got), len(want)-1)
	}
	if st := p.Stats(); st.Dropped != [2]int{0, 4 * 590} || st.Late != [2]int{} {
		t.Errorf("%+v", st)
	}
	p.Advance(a[len(a)-1].timeNS + 2e9)
	send(b[len(b)-1])
	if st := p.Stats(); st.Late != [2]int{0, 1} {
		t.Errorf("a frame two seconds late: %+v", st)
	}
}

// When both are silent, Advance goes on; a silence longer than everything remembered starts anew.
func TestSilenceOfBoth(t *testing.T) {
	s := smooth(5)
	a, b := film(A, 30, 0, 0, 10, s), film(B, 30, 0, 0, 10, s)
	n, last := 0, Result{}
	p, err := New(one(), func(r Result) { n, last = n+1, r })
	if err != nil {
		t.Fatal(err)
	}
	send := func(by int64) {
		for _, f := range merge(a, b) {
			if err := p.Add(f.side, f.timeNS+by, f.values); err != nil {
				t.Fatal(err)
			}
		}
	}
	send(0)
	p.Advance(startNS + 20e9)
	if want := 1 + (20*30-15-150-63)/10; n != want || !math.IsNaN(last.Mean.Value.R) {
		t.Errorf("%d results after Advance, want %d; %+v", n, want, last)
	}
	before := n
	send(3600e9)
	if n-before > 200 || n-before < 10 {
		t.Errorf("%d results around an hour of silence", n-before)
	}
	near(t, "R", last.Mean.Value.R, 1, 1e-9)
	if p.Stats().Restarts != 1 || last.FromNS < startNS+3600e9 {
		t.Errorf("%+v %+v", p.Stats(), last)
	}
}

// A clock that was too early cannot make results go back in time.
func TestResultsStayInOrder(t *testing.T) {
	s := smooth(5)
	last, n := int64(0), 0
	p, err := New(one(), func(r Result) {
		if r.FromNS < last {
			t.Errorf("%d after %d", r.FromNS, last)
		}
		last, n = r.FromNS, n+1
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range merge(film(A, 30, 0, 0, 90, s), film(B, 30, 0, 0, 90, s)) {
		if err := p.Add(f.side, f.timeNS, f.values); err != nil {
			t.Fatal(err)
		}
		if i == 600 {
			p.Advance(f.timeNS + 3600e9)
		}
	}
	if n < 150 || p.Stats().Restarts != 1 {
		t.Errorf("%d results, %+v", n, p.Stats())
	}
}
