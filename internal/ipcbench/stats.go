package ipcbench

import (
	"math"
	"slices"
)

// percents are the points of a latency distribution that are kept.
var percents = []float64{1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9, 100}

// Figure is a distribution of times in microseconds.
type Figure struct {
	Frames int     `json:"frames"`
	Mean   float64 `json:"mean_us"`
	P50    float64 `json:"p50_us"`
	P90    float64 `json:"p90_us"`
	P99    float64 `json:"p99_us"`
	Max    float64 `json:"max_us"`
	// Percentiles are pairs of percent and microseconds.
	Percentiles [][2]float64 `json:"percentiles_us,omitempty"`
	RoundP50    []float64    `json:"round_p50_us,omitempty"` // of each round by itself: how steady it was
}

// figure sums up nanoseconds; it sorts them.
func figure(ns []int64) Figure {
	f := Figure{Frames: len(ns)}
	if len(ns) == 0 {
		return f
	}
	slices.Sort(ns)
	sum := 0.0
	for _, v := range ns {
		sum += float64(v)
	}
	f.Mean = micro(sum / float64(len(ns)))
	f.P50, f.P90, f.P99, f.Max = quantile(ns, 50), quantile(ns, 90), quantile(ns, 99), quantile(ns, 100)
	for _, p := range percents {
		f.Percentiles = append(f.Percentiles, [2]float64{p, quantile(ns, p)})
	}
	return f
}

// quantile is the smallest of the sorted values that so many percent do not exceed, in microseconds.
func quantile(sorted []int64, percent float64) float64 {
	const rounding = 1e-9 // 99.9 has no exact binary form
	i := int(math.Ceil(percent*float64(len(sorted))/100-rounding)) - 1
	return micro(float64(sorted[min(max(i, 0), len(sorted)-1)]))
}

// micro turns nanoseconds into microseconds with two digits.
func micro(ns float64) float64 { return round2(ns / 1e3) }

func round2(v float64) float64 { return math.Round(100*v) / 100 }

// median of a list, which it sorts; 0 of none.
func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// ratio is a/b with two digits, 0 when b is.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return math.Round(1000*a/b) / 1000
}
