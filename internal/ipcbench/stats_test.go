package ipcbench

import (
	"math"
	"testing"
)

func TestFigure(t *testing.T) {
	var ns []int64
	for i := 1000; i >= 1; i-- { // 1 to 1000 µs, from the end
		ns = append(ns, int64(i)*1000)
	}
	f := figure(ns)
	if f.Frames != 1000 || f.Mean != 500.5 || f.P50 != 500 || f.P90 != 900 || f.P99 != 990 || f.Max != 1000 {
		t.Errorf("%+v", f)
	}
	want := []float64{10, 50, 100, 250, 500, 750, 900, 950, 990, 999, 1000}
	for i, p := range f.Percentiles {
		if p[0] != percents[i] || p[1] != want[i] {
			t.Errorf("percentile %v, want %v%% %v", p, percents[i], want[i])
		}
	}
	if f := figure(nil); f.Frames != 0 || f.P50 != 0 || f.Percentiles != nil {
		t.Errorf("of nothing: %+v", f)
	}
	if f := figure([]int64{1234}); f.P50 != 1.23 || f.P99 != 1.23 || f.Mean != 1.23 {
		t.Errorf("of one: %+v", f)
	}
}

func TestMedianAndRatio(t *testing.T) {
	for _, c := range []struct {
		of   []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 2, 9}, 3}} {
		if got := median(c.of); got != c.want {
			t.Errorf("median of %v = %v, want %v", c.of, got, c.want)
		}
	}
	if ratio(1, 3) != 0.333 || ratio(1, 0) != 0 || math.IsNaN(ratio(0, 0)) {
		t.Error(ratio(1, 3), ratio(1, 0), ratio(0, 0))
	}
}

// Two rounds of a line: figures come from all frames together, rates from all the time.
func TestLineOfSeveralRounds(t *testing.T) {
	l := Line{SatRounds: []float64{100, 300, 200}}
	l.add(outcome{tally: tally{Minimal: []int64{1000, 3000}, Whole: []int64{5000}, Frames: 4, Up: 40, Down: 16}, Seconds: 1, Counted: 3, UpHere: 400})
	l.add(outcome{tally: tally{Minimal: []int64{2000}, Whole: []int64{7000, 9000}, Frames: 4, Up: 40, Down: 16, Mismatches: 1}, Seconds: 0.5, Counted: 3, UpHere: 400})
	l.sum()
	switch {
	case l.MayStart.P50 != 2 || l.MayStart.Frames != 3 || l.MayStart.Max != 3 || l.Whole.P50 != 7:
		t.Errorf("figures: %+v, %+v", l.MayStart, l.Whole)
	case len(l.MayStart.RoundP50) != 2 || l.MayStart.RoundP50[0] != 1 || l.Whole.RoundP50[1] != 7:
		t.Errorf("rounds: %v, %v", l.MayStart.RoundP50, l.Whole.RoundP50)
	case l.BytesUp != 110 || l.BytesDown != 4 || l.PacedRate != 4 || l.Saturated != 200:
		t.Errorf("%v bytes up, %v down, %v and %v frames/s", l.BytesUp, l.BytesDown, l.PacedRate, l.Saturated)
	case l.Checked != 8 || l.Mismatches != 1:
		t.Errorf("%d checked, %d wrong", l.Checked, l.Mismatches)
	}
	if r := (Result{Transports: []Line{l}}); r.Mismatches() != 1 {
		t.Errorf("%d mismatches in all", r.Mismatches())
	}
}

func TestBytesAgainstShm(t *testing.T) {
	b := &bench{result: Result{PCIe: []PCIe{
		{Readers: 1, Transport: Auto, Measured: true, Up: 1000, Down: 10},
		{Readers: 1, Transport: Shm, Measured: true, Up: 990, Down: 10},
	}}}
	b.compute(4)
	b.compareBytes()
	got := b.result.PCIe
	if len(got) != 4 || got[2].Up != 1000 || got[2].Down != 40 || got[3].Up != 3960 || got[3].Down != 40 || got[2].Measured {
		t.Fatalf("%+v", got)
	}
	if got[0].Less != -0.01 || got[2].Less != 0.74 || got[3].Less != 0 {
		t.Errorf("%+v", got)
	}
}

func TestTargets(t *testing.T) {
	line := func(name string, p50, p99 float64) Line {
		return Line{Transport: name, Format: "NV12", MayStart: Figure{Frames: 1, P50: p50, P99: p99}}
	}
	b := &bench{producer: &producer{o: Options{Width: 1920, Height: 1080, Readers: []int{2, 9}}}, result: Result{
		Transports: []Line{line(Auto, 100, 301), line(TorchQueue, 400, 900), line(TorchPipe, 250, 900)},
		Uploads:    []Bandwidth{{Format: "NV12", Memory: memoryRegistered, Time: Figure{P50: 60}}, {Format: "NV12", Memory: memoryPlain, Time: Figure{P50: 120}}},
		Overlap:    []Overlap{{Format: "NV12", VersusRing: 2, VersusOne: 1.2}},
		PCIe:       []PCIe{{Readers: 9, Transport: Auto, Less: 0.91}, {Readers: 2, Transport: Auto, Less: 0.5}},
	}}
	b.judge()
	met := map[float64]bool{100: true, 301: false, 0.25: true, 0.4: false, 2: true, 1.2: false, 0.91: true}
	seen := 0
	for _, x := range b.result.Targets {
		want, known := met[x.Value]
		if !known || x.Met != want {
			t.Errorf("%+v", x)
		}
		seen++
	}
	if seen != 8 { // the ratio 2 comes twice: pinned memory and overlap
		t.Errorf("%d targets: %+v", seen, b.result.Targets)
	}
}
