package hosts

import (
	"testing"

	"facetrack/ipc"
)

// Other hosts give as many names as they like: neither those nor numbers are kept for ever.
func TestPeopleAreForgotten(t *testing.T) {
	p := newPeople()
	track := func(at int64, faces ...ipc.TrackedFace) *ipc.Tracks {
		return &ipc.Tracks{Frame: ipc.Frame{Camera: "cam0", CaptureNS: at}, Faces: faces}
	}
	p.saw("lab", "left", track(1, ipc.TrackedFace{ID: 1, Participant: "child"}, ipc.TrackedFace{ID: 2}), 0)
	for _, after := range []struct {
		at   int64
		want int
	}{{absentNS, 2}, {forgetNS, 2}, {forgetNS + 2, 1}, {forgetNamedNS, 1}, {forgetNamedNS + 2, 0}} {
		if got := len(p.now(after.at)); got != after.want {
			t.Errorf("%d people after %d s, want %d", got, after.at/1_000_000_000, after.want)
		}
	}
}
