package replay

import (
	"context"
	"errors"
	"strings"
	"testing"

	"facetrack/ipc"
)

func TestParseSpeed(t *testing.T) {
	for text, want := range map[string]Speed{"realtime": Realtime, "max": Max, "2": 2, "0.5": 0.5, "1": Realtime} {
		if got, err := ParseSpeed(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "fast", "0", "-1", "NaN", "1001", "2x"} {
		if _, err := ParseSpeed(text); err == nil || !strings.Contains(err.Error(), "--speed="+text+": it must be realtime, max, or how many times faster, 0.01 to 1000") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Two frames of a session that began at 1000 s, 2 s apart, played at 50 s.
func TestTimes(t *testing.T) {
	const first, second, later = 1000e9, 1002e9, 50.25e9
	for name, c := range map[string]struct {
		speed    Speed
		media    int64 // of the second frame, in the session
		capture  int64 // of the second frame, in the replay
		time     int64 // between both frames, for a tracker
		mediaNow bool
	}{
		"realtime":           {Realtime, 0, 52e9, 2e9, false},
		"four times":         {4, 0, 50.5e9, 2e9, true},
		"max":                {Max, 0, later, 2e9, true},
		"recorded, realtime": {Realtime, 7e9, 52e9, 7e9 - 1, true},
		"recorded, max":      {Max, 7e9, later, 7e9 - 1, true},
	} {
		clock := int64(50e9)
		x := times{speed: c.speed, now: func() int64 { return clock }}
		a := ipc.Frame{CaptureNS: first, Stamps: ipc.Stamps{Capture: first + 1, Landmarks: first + 3}, Ack: true}
		b := ipc.Frame{CaptureNS: second, MediaNS: c.media}
		if c.media != 0 {
			a.MediaNS = 1
		}
		x.begin(a.CaptureNS)
		x.move(&a)
		clock = later
		x.move(&b)
		if a.CaptureNS != 50e9 || a.Stamps != (ipc.Stamps{Capture: 50e9 + 1, Landmarks: 50e9 + 3}) || a.Ack {
			t.Errorf("%s: the first frame: %+v", name, a)
		}
		if b.CaptureNS != c.capture || b.TimeNS()-a.TimeNS() != c.time || (b.MediaNS != 0) != c.mediaNow {
			t.Errorf("%s: the second frame: %+v, %d ns later", name, b, b.TimeNS()-a.TimeNS())
		}
	}
}

// A frame that is due later is waited for as long as the context lets it.
func TestDue(t *testing.T) {
	clock := int64(50e9)
	x := times{speed: 1, now: func() int64 { return clock }}
	if err := x.due(t.Context(), &ipc.Frame{CaptureNS: 10e9}); err != nil {
		t.Error(err)
	}
	if err := x.due(t.Context(), &ipc.Frame{CaptureNS: 10e9 + 1e6}); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := x.due(ctx, &ipc.Frame{CaptureNS: 1000e9}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
