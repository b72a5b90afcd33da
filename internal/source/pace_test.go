package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"testing"
	"time"
)

// fakeClock moves only when somebody sleeps, or by hand.
type fakeClock struct {
	now    int64
	sleeps []time.Duration
}

func (c *fakeClock) Now() int64 { return c.now }

func (c *fakeClock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.sleeps = append(c.sleeps, d)
	c.now += int64(d)
	return nil
}

func TestPacerNeverDrifts(t *testing.T) {
	clk := &fakeClock{now: 5e9}
	p := Pace(mustOpen(t, "synthetic:faces=0", Options{}), 29.97, clk)
	if p.Info().FPS != 29.97 {
		t.Errorf("rate %v", p.Info().FPS)
	}
	var at int64
	for i := range int64(10000) {
		var err error
		if at, err = p.Grab(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := 5e9 + float64(i)*1e9/29.97; float64(at) < want-2 || float64(at) > want+2 {
			t.Fatalf("frame %d is due at %d, want %.0f", i, at, want)
		}
		if clk.now < at {
			t.Fatalf("frame %d came at %d, before it was due at %d", i, clk.now, at)
		}
	}
	if clk.now != at || p.Slipped() != 0 {
		t.Errorf("clock %d, due %d, slipped %v", clk.now, at, p.Slipped())
	}
}

// Cameras in memory take their frames in step, whenever each of them begins, or in turn, by their phases.
func TestPhasesSpreadCameras(t *testing.T) {
	const period = int64(100e6)
	for _, begin := range []int64{7e9, 7e9 + 1, 7e9 + 99e6} {
		for _, phase := range []float64{0, 0.25, 1} {
			open := func(ctx context.Context) (Source, error) {
				return Open(ctx, fmt.Sprintf("memory:frames=3,phase=%g:%s", phase, drawn), Options{})
			}
			loop, err := NewLoop(t.Context(), open)
			if err != nil {
				t.Fatal(err)
			}
			p, first := Pace(loop, 10, &fakeClock{now: begin}), int64(0)
			for i := range int64(8) {
				at := grab(t, p)
				if off := float64(at%period)/float64(period) - phase; math.Abs(off-math.Round(off)) > 1e-6 {
					t.Errorf("begin %d, phase %g: frame %d is due at %d", begin, phase, i, at)
				}
				if i == 0 {
					first = at
				}
				if at != first+i*period || first < begin || first > begin+period {
					t.Errorf("begin %d, phase %g: frame %d is due at %d, the first at %d", begin, phase, i, at, first)
				}
			}
			if err := loop.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestLateFramesComeAtOnceWithTheirDueInstant(t *testing.T) {
	clk := &fakeClock{}
	p := Pace(mustOpen(t, "synthetic:faces=0", Options{}), 10, clk)
	grab(t, p)
	clk.now += 550e6 // frames due at 100…500 ms are late
	clk.sleeps = nil
	for i := int64(1); i <= 5; i++ {
		if at := grab(t, p); at != i*100e6 || len(clk.sleeps) != 0 {
			t.Errorf("late frame %d: due %d, sleeps %v", i, at, clk.sleeps)
		}
	}
	if at := grab(t, p); at != 600e6 || len(clk.sleeps) != 1 || clk.sleeps[0] != 50*time.Millisecond {
		t.Errorf("back on schedule: due %d, sleeps %v", at, clk.sleeps)
	}
	if p.Slipped() != 0 {
		t.Errorf("slipped %v", p.Slipped())
	}
}

func TestLongStallMovesTheSchedule(t *testing.T) {
	clk := &fakeClock{}
	p := Pace(mustOpen(t, "synthetic:faces=0", Options{}), 10, clk)
	grab(t, p)
	clk.now = 20e9
	clk.sleeps = nil
	if at := grab(t, p); at != 20e9 {
		t.Errorf("after a stall the frame is due at %d, want now", at)
	}
	if at := grab(t, p); at != 20e9+100e6 || len(clk.sleeps) != 1 {
		t.Errorf("the next is due at %d, sleeps %v: a burst", at, clk.sleeps)
	}
	if p.Slipped() != 19900*time.Millisecond {
		t.Errorf("slipped %v, want 19.9 s", p.Slipped())
	}
}

func TestPacerPassesErrorsAndContexts(t *testing.T) {
	clk := &fakeClock{}
	p := Pace(mustOpen(t, "synthetic:faces=0,frames=2,fps=5", Options{}), 0, clk)
	if p.Info().FPS != 5 {
		t.Errorf("rate %v, want the source's", p.Info().FPS)
	}
	grab(t, p)
	next(t, p)
	if _, err := p.Grab(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	// With the system's clock: a frame due in an hour, and a context that ends.
	p = Pace(mustOpen(t, "synthetic:faces=0", Options{}), 1.0/3600, nil)
	grab(t, p)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	if _, err := p.Grab(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while waiting: %v", err)
	}
}

func TestSystemClockSleeps(t *testing.T) {
	var clk systemClock
	before := clk.Now()
	if err := clk.Sleep(t.Context(), 2*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if slept := clk.Now() - before; slept < 2e6 {
		t.Errorf("slept %d ns", slept)
	}
}

func grab(t *testing.T, s Source) int64 {
	t.Helper()
	at, err := s.Grab(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return at
}
