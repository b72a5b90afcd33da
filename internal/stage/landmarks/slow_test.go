package landmarks

import (
	"testing"

	"facetrack/ipc"
)

// How long faces are followed is told by the time of the recording, however slowly it is read.
func TestRecordedFacesAreFollowedInTheirOwnTime(t *testing.T) {
	for _, c := range []struct {
		captureNS, mediaNS int64
		want               int
	}{
		{t0 + 9*second, t0 + ipc.FollowNS, 1}, // a slow machine
		{t0 + 1, t0 + ipc.FollowNS + 1, 0},    // a slow camera, read fast
	} {
		r := following(4, false, [2]float64{300, 200}) // of time t0
		d := ipc.Detections{Frame: ipc.Frame{CaptureNS: c.captureNS, MediaNS: c.mediaNS}}
		if got := r.candidates(d); len(got) != c.want {
			t.Errorf("captured at %d, recorded at %d: %d candidates, want %d", c.captureNS, c.mediaNS, len(got), c.want)
		}
		last := &ipc.Tracks{
			Frame: ipc.Frame{CaptureNS: t0, MediaNS: t0}, Faces: []ipc.TrackedFace{{ID: 1, Points: points32(mesh(300, 200))}},
		}
		restored := &regions{limit: 4}
		restored.restore(last, d.TimeNS())
		if got := restored.candidates(d); len(got) != c.want {
			t.Errorf("after a restart, captured at %d, recorded at %d: %d candidates, want %d", c.captureNS, c.mediaNS, len(got), c.want)
		}
	}
}
