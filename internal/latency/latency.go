// Package latency collects durations and gives their percentiles.
package latency

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const highest = 600_000_000 // µs: ten minutes; longer counts as that

// Histogram collects durations from 1 µs to 10 minutes, exact to three digits. It is not safe for concurrent use.
type Histogram struct {
	h        *hdrhistogram.Histogram
	sum, max int64 // µs; reading them from h takes a way through all of it each
}

// New returns an empty histogram.
func New() *Histogram { return &Histogram{h: hdrhistogram.New(1, highest, 3)} }

// Record adds one duration.
func (h *Histogram) Record(d time.Duration) {
	us := min(max(d.Microseconds(), 1), highest)
	_ = h.h.RecordValue(us) // never out of range
	h.sum, h.max = h.sum+us, max(h.max, us)
}

// Add takes over all that another histogram holds.
func (h *Histogram) Add(o *Histogram) {
	h.h.Merge(o.h)
	h.sum, h.max = h.sum+o.sum, max(h.max, o.max)
}

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
	n := h.h.TotalCount()
	if n == 0 {
		return Percentiles{}
	}
	at := h.h.ValueAtPercentiles([]float64{50, 95, 99})
	ms := func(us int64) float64 { return float64(min(us, h.max)) / 1000 } // percentiles are the ends of their buckets
	return Percentiles{Mean: float64(h.sum) / float64(n) / 1000, P50: ms(at[50]), P95: ms(at[95]), P99: ms(at[99]), Max: ms(h.max)}
}
