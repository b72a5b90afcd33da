package latency

import (
	"slices"
	"time"
)

// window is how many durations a Recent remembers: eight seconds of a camera of 30 frames a second.
const window = 256

// Recent keeps the last durations alone, so that what is slow now shows whatever came before. It is not safe for concurrent use.
type Recent struct {
	last [window]time.Duration
	n    int // recorded so far
}

// Record adds one duration in place of the oldest.
func (r *Recent) Record(d time.Duration) {
	r.last[r.n%window] = d
	r.n++
}

// Percentiles returns those of the durations that are remembered.
func (r *Recent) Percentiles() Percentiles {
	sorted := slices.Sorted(slices.Values(r.last[:min(r.n, window)]))
	if len(sorted) == 0 {
		return Percentiles{}
	}
	var sum time.Duration
	for _, d := range sorted {
		sum += d
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	at := func(percent int) float64 { return ms(sorted[(len(sorted)*percent+99)/100-1]) }
	return Percentiles{
		Mean: ms(sum) / float64(len(sorted)), P50: at(50), P95: at(95), P99: at(99), Max: ms(sorted[len(sorted)-1]),
	}
}
