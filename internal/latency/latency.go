// Package latency collects durations and gives their percentiles.
package latency

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const highest = 600_000_000 // µs: ten minutes; longer counts as that

// Histogram collects durations from 1 µs to 10 minutes, exact to three digits. It is not safe for concurrent use.
type Histogram struct{ h *hdrhistogram.Histogram }

// New returns an empty histogram.
func New() *Histogram { return &Histogram{hdrhistogram.New(1, highest, 3)} }

// Record adds one duration.
func (h *Histogram) Record(d time.Duration) {
	_ = h.h.RecordValue(min(max(d.Microseconds(), 1), highest)) // never out of range
}

// Add takes over all that another histogram holds.
func (h *Histogram) Add(o *Histogram) { h.h.Merge(o.h) }

// Percentiles of a set of durations, in milliseconds; zero when nothing was measured.
type Percentiles struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

// Percentiles returns what was recorded so far.
func (h *Histogram) Percentiles() Percentiles {
	if h.h.TotalCount() == 0 {
		return Percentiles{}
	}
	ms := func(q float64) float64 { return float64(h.h.ValueAtQuantile(q)) / 1000 }
	return Percentiles{Mean: h.h.Mean() / 1000, P50: ms(50), P95: ms(95), P99: ms(99), Max: float64(h.h.Max()) / 1000}
}
