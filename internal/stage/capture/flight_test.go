package capture

import (
	"context"
	"testing"
	"time"
)

func TestFlightWaitsForRoom(t *testing.T) {
	f := newFlight(time.Hour)
	f.add(1)
	f.add(2)
	f.wait(t.Context(), 3) // room for one more
	passed := make(chan struct{})
	go func() {
		f.wait(t.Context(), 2)
		close(passed)
	}()
	select {
	case <-passed:
		t.Fatal("went on with two of two frames under way")
	case <-time.After(20 * time.Millisecond):
	}
	f.done(7) // not one of ours
	f.done(1)
	<-passed
}

func TestFlightForgetsLostFrames(t *testing.T) {
	f := newFlight(10 * time.Millisecond)
	f.add(1)
	f.wait(t.Context(), 1)
	if n, _ := f.expire(time.Now()); n != 0 {
		t.Errorf("%d frames under way", n)
	}
}

func TestFlightEndsWithContext(t *testing.T) {
	f := newFlight(time.Hour)
	f.add(1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f.wait(ctx, 1)
}

func TestFlightBelowANumber(t *testing.T) {
	f := newFlight(time.Hour)
	if f.end() != 0 || !f.passed(0) {
		t.Errorf("nothing is under way, end %d", f.end())
	}
	f.add(3)
	f.add(5)
	end := f.end()
	f.add(6)
	f.done(3)
	if end != 6 || f.passed(end) {
		t.Errorf("end %d; 5 has passed: %v", end, f.passed(end))
	}
	if f.done(5); !f.passed(end) {
		t.Error("6 is not below 6")
	}
	late := newFlight(0)
	if late.add(1); !late.passed(2) {
		t.Error("a frame without news for too long is waited for")
	}
}
