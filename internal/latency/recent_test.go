package latency

import (
	"testing"
	"time"
)

func TestRecentForgetsWhatIsLongAgo(t *testing.T) {
	var r Recent
	if got := r.Percentiles(); got != (Percentiles{}) {
		t.Errorf("nothing recorded: %+v", got)
	}
	r.Record(7 * time.Millisecond)
	if got := r.Percentiles(); got != (Percentiles{7, 7, 7, 7, 7}) {
		t.Errorf("one duration: %+v", got)
	}
	for range 1000 {
		r.Record(time.Hour)
	}
	for ms := window; ms >= 1; ms-- {
		r.Record(time.Duration(ms) * time.Millisecond)
	}
	if got, want := r.Percentiles(), (Percentiles{Mean: 128.5, P50: 128, P95: 244, P99: 254, Max: 256}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
