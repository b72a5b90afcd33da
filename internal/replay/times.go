package replay

import (
	"context"
	"time"

	"facetrack/internal/clock"
	"facetrack/ipc"
)

// leadNS keeps the time of every frame above 0, which stands for none: cameras begin at different instants.
const leadNS = 60_000_000_000

// times takes frames from the session's clock to this one.
type times struct {
	speed Speed
	now   func() int64 // CLOCK_MONOTONIC
	begun bool
	first int64 // capture instant of the first frame, in the session
	base  int64 // … and now
}

// begin starts with the first frame.
func (t *times) begin(captureNS int64) {
	if !t.begun {
		t.begun, t.first, t.base = true, captureNS, t.now()
	}
}

// instant is when something happens again, CLOCK_MONOTONIC.
func (t *times) instant(ns int64) int64 {
	t.begin(ns)
	switch t.speed {
	case Max:
		return t.now()
	case Realtime: // exactly as far apart as it was
		return t.base + ns - t.first
	}
	return t.base + int64(float64(ns-t.first)/float64(t.speed))
}

// due returns when the frame is captured again, or ctx is done.
func (t *times) due(ctx context.Context, f *ipc.Frame) error {
	t.begin(f.CaptureNS)
	if t.speed == Max {
		return ctx.Err()
	}
	left := time.Duration(t.instant(f.CaptureNS) - t.now())
	if left <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// move gives a frame its instants in the replay.
func (t *times) move(f *ipc.Frame) {
	at := t.instant(f.CaptureNS)
	if t.speed != Realtime && f.MediaNS == 0 {
		f.MediaNS = f.CaptureNS - t.first + leadNS
	}
	by := at - f.CaptureNS
	for _, stamp := range []*int64{&f.Stamps.Capture, &f.Stamps.Detect, &f.Stamps.Landmarks} {
		if *stamp != 0 {
			*stamp += by
		}
	}
	f.CaptureNS, f.WallNS, f.Ack = at, clock.Wall()+at-clock.Now(), false
}
