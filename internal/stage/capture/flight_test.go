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
