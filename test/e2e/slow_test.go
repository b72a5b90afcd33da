//go:build e2e

package e2e

import (
	"testing"

	"facetrack/ipc"
)

// checkEverybodyIsTracked: from the third frame on there are the same faces on every frame.
func checkEverybodyIsTracked(t *testing.T, all []ipc.Tracks, frames, faces int) {
	t.Helper()
	if len(all) != frames {
		t.Errorf("%d frames recorded, want %d", len(all), frames)
	}
	for _, m := range all {
		want := faces
		if m.Seq < 2 {
			want = 0
		}
		if len(m.Faces) != want {
			t.Errorf("frame %d: %d faces, want %d", m.Seq, len(m.Faces), want)
		}
		for i, f := range m.Faces {
			if f.ID != i+1 {
				t.Errorf("frame %d: identity %d, want %d", m.Seq, f.ID, i+1)
			}
		}
	}
}

// A recording of one frame a second, or every two: nobody can be followed from frame to frame, so every frame is
// looked at. It is read in no time: the time of the recording counts.
func TestSlowRecordingIsTracked(t *testing.T) {
	for _, fps := range []string{"1", "0.5"} {
		t.Run(fps+" fps", func(t *testing.T) {
			r := prepare(t)
			s := r.up("--config", r.config(""), "--source", "synthetic:faces=1,frames=20,fps="+fps, "--pace", "max", "--record", r.path("a.jsonl")).mustEnd()
			if cam := s.Cameras["cam0"]; cam.Tracked != 20 || len(cam.Identities) != 1 {
				t.Errorf("tracked %d frames, identities %v, dropped %v", cam.Tracked, cam.Identities, cam.Dropped)
			}
			checkEverybodyIsTracked(t, tracks(t, r.path("a.jsonl")), 20, 1)
		})
	}
}

// In real time, at a rate at which faces are just followed from frame to frame.
func TestSlowRateInRealTime(t *testing.T) {
	r := prepare(t)
	r.up("--config", r.config(""), "--source", "synthetic:faces=1,frames=12,fps=3", "--record", r.path("a.jsonl")).mustEnd()
	checkEverybodyIsTracked(t, tracks(t, r.path("a.jsonl")), 12, 1)
}
