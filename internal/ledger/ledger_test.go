package ledger

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

var t0 = time.Unix(1000, 0)

func check(t *testing.T, s Summary) {
	t.Helper()
	if s.Captured != s.Tracked+s.TotalDropped()+uint64(s.Open) {
		t.Errorf("captured %d ≠ tracked %d + dropped %v + open %d", s.Captured, s.Tracked, s.Dropped, s.Open)
	}
}

func TestEveryFateIsCounted(t *testing.T) {
	l := New(time.Second)
	for seq := uint64(10); seq < 16; seq++ {
		l.Reached("a", seq, 1, t0)
	}
	for p := 2; p <= Done; p++ {
		l.Reached("a", 10, p, t0)
	}
	l.Dropped("a", "detect", "overwritten", 11, t0)
	l.Reached("a", 12, 2, t0)                         // landmarks has it and dies
	l.Reached("a", 13, 3, t0)                         // tracker has it and dies
	l.Reached("a", 18, 1, t0)                         // 16 and 17 never left capture
	l.Dropped("a", "capture", "no-free-slot", 17, t0) // one of them with a notice
	if open := l.Settle(t0.Add(500 * time.Millisecond)); open != 6 {
		t.Errorf("open = %d, want 6 (12 to 16 and 18)", open)
	}
	if open := l.Settle(t0.Add(2 * time.Second)); open != 0 {
		t.Errorf("open = %d after patience ran out", open)
	}
	s := l.Summaries()["a"]
	check(t, s)
	want := map[string]uint64{
		"detect:overwritten": 1, "capture:no-free-slot": 1, "landmarks:lost": 1, "tracker:lost": 1,
		"detect:lost": 3, "capture:lost": 1,
	}
	if s.Captured != 9 || s.Tracked != 1 || !reflect.DeepEqual(s.Dropped, want) {
		t.Errorf("captured %d tracked %d dropped %v\nwant 9, 1, %v", s.Captured, s.Tracked, s.Dropped, want)
	}
}

func TestLateNewsCorrectsTheBook(t *testing.T) {
	l := New(time.Second)
	for seq := range uint64(3) {
		l.Reached("a", seq, 1, t0)
	}
	l.Close()
	l.Reached("a", 0, Done, t0)
	l.Reached("a", 0, Done, t0) // told twice, counted once
	l.Dropped("a", "detect", "overwritten", 1, t0)
	l.Reached("a", 2, 2, t0) // news, but no end: stays written off
	s := l.Summaries()["a"]
	check(t, s)
	if want := map[string]uint64{"detect:overwritten": 1, "detect:lost": 1}; s.Tracked != 1 || !reflect.DeepEqual(s.Dropped, want) {
		t.Errorf("tracked %d dropped %v, want 1, %v", s.Tracked, s.Dropped, want)
	}
}

func TestEndCountsFramesNobodySaw(t *testing.T) {
	l := New(time.Second)
	l.Reached("a", 0, Done, t0)
	l.Captured("a", 4, t0)
	l.Ended("a", "end of source")
	l.Ended("b", "no frames")
	l.Close()
	if s := l.Summaries()["a"]; s.Captured != 5 || s.Dropped["capture:lost"] != 4 {
		t.Errorf("%+v", s)
	}
	if s := l.Summaries()["b"]; s.Captured != 0 || s.End != "no frames" {
		t.Errorf("%+v", s)
	}
	if !l.AllEnded([]string{"a", "b"}) || l.AllEnded([]string{"a", "c"}) {
		t.Error("AllEnded is wrong")
	}
}

// In whatever order news arrives, repeated or missing, the book balances.
func TestBookBalancesForRandomNews(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		l := New(time.Second)
		for i := range 500 {
			seq, now := uint64(r.IntN(80)), t0.Add(time.Duration(i)*20*time.Millisecond)
			switch r.IntN(8) {
			case 0:
				l.Dropped("a", "detect", "overwritten", seq, now)
			case 1:
				l.Settle(now)
			default:
				l.Reached("a", seq, 1+r.IntN(Done), now)
			}
			check(t, l.Summaries()["a"])
		}
		l.Close()
		if s := l.Summaries()["a"]; s.Open != 0 {
			t.Fatalf("seed %d: %d open after Close", seed, s.Open)
		}
	}
}

func TestLatencyPercentiles(t *testing.T) {
	l := New(time.Second)
	for ms := 1; ms <= 100; ms++ {
		l.Latency("a", time.Duration(ms)*time.Millisecond, map[string]time.Duration{"detect": time.Millisecond})
	}
	s := l.Summaries()["a"]
	got := s.LatencyMS.CaptureToTracks
	for name, c := range map[string]struct{ got, want float64 }{"p50": {got.P50, 50}, "p95": {got.P95, 95}, "p99": {got.P99, 99}, "max": {got.Max, 100}, "stage": {s.StageMS["detect"].P50, 1}} {
		if c.got < c.want*0.998 || c.got > c.want*1.002 {
			t.Errorf("%s = %v, want %v", name, c.got, c.want)
		}
	}
}
