package synchrony

import "testing"

// rig is 64 pairs of ten channels each, warm.
func rig(tb testing.TB, pairs int) func(i int) {
	o := Options{Channels: []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}
	var signals []signal
	for i := range o.Channels {
		signals = append(signals, smooth(uint64(i)))
	}
	frames := merge(film(A, 30, 0.2, 0, 60, signals...), film(B, 30, 0.2, 0, 60, signals...))
	all := make([]*Pair, pairs)
	for i := range all {
		p, err := New(o, func(Result) {})
		if err != nil {
			tb.Fatal(err)
		}
		all[i] = p
	}
	second := func(i int) { // 30 frames of both sides of all pairs
		lap := int64(i*60/len(frames)) * 60e9
		for _, f := range frames[i*60%len(frames):][:60] {
			for _, p := range all {
				if err := p.Add(f.side, f.timeNS+lap, f.values); err != nil {
					tb.Fatal(err)
				}
			}
		}
	}
	for i := range 60 {
		second(i)
	}
	return second
}

// BenchmarkSecond64Pairs is one second of 64 pairs with ten channels at 30 Hz: 1 s/op would be a whole core.
func BenchmarkSecond64Pairs(b *testing.B) {
	second := rig(b, 64)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		second(60 + i)
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)*100, "%core")
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	second := rig(t, 1)
	i := 60
	if n := testing.AllocsPerRun(20, func() { second(i); i++ }); n != 0 {
		t.Errorf("%g allocations a second", n)
	}
}
