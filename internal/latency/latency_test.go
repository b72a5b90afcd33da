package latency

import (
	"testing"
	"time"
)

func TestPercentiles(t *testing.T) {
	h := New()
	if got := h.Percentiles(); got != (Percentiles{}) {
		t.Errorf("nothing recorded: %+v", got)
	}
	for ms := 1; ms <= 100; ms++ {
		h.Record(time.Duration(ms) * time.Millisecond)
	}
	h.Record(-time.Second)   // counts as the least
	h.Record(24 * time.Hour) // counts as the most
	got := h.Percentiles()
	for name, c := range map[string]struct{ got, want float64 }{
		"mean": {got.Mean, (5050 + 0.001 + 600_000) / 102}, "p50": {got.P50, 51}, "p95": {got.P95, 96}, "p99": {got.P99, 100}, "max": {got.Max, 600_000},
	} {
		if c.got < 0.98*c.want || c.got > 1.02*c.want {
			t.Errorf("%s = %v, want %v", name, c.got, c.want)
		}
	}
}

func TestPercentilesAreWithinTheMost(t *testing.T) {
	h := New()
	h.Record(33100 * time.Microsecond)
	if got := h.Percentiles(); got != (Percentiles{33.1, 33.1, 33.1, 33.1, 33.1}) {
		t.Errorf("%+v", got)
	}
}
