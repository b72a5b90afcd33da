//go:build e2e

package e2e

import (
	"math"
	"slices"
	"syscall"
	"testing"

	"facetrack/internal/source"
	"facetrack/internal/stage"
	"facetrack/ipc"
)

// Two people who look the same keep their identities when the tracker is killed, and when landmarks is.
func TestIdentitiesSurviveKills(t *testing.T) {
	for _, c := range []struct {
		name, stage string
		flags       []string
	}{
		{"recorded, tracker", stage.Tracker, []string{"--pace", "max"}},
		{"real time, tracker", stage.Tracker, nil},
		{"real time, landmarks", stage.Landmarks, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, drawn := prepare(t), apart(t, 3000)
			// Only places tell these two apart. A busy machine may need long to start a process.
			config := r.config("tracker: {memory_s: 60}\n")
			r.up(append([]string{"--config", config, "--source", drawn, "--record", r.path("a.jsonl")}, c.flags...)...)
			r.eventually("frames are tracked", func() bool { return r.status()[stage.Tracker].Cameras["cam0"].Frames > 40 })
			r.killAndWait(c.stage)
			r.eventually("frames are tracked again", func() bool { return r.status()[c.stage].Cameras["cam0"].Frames > 40 })
			r.interrupt()
			s := r.mustEnd()
			if s.Restarts[c.stage] != 1 {
				t.Errorf("restarts %v, want one of %s", s.Restarts, c.stage)
			}
			if cam := s.Cameras["cam0"]; len(cam.Identities) != 2 {
				t.Errorf("identities %v, want 2", cam.Identities)
			}
			all := tracks(t, r.path("a.jsonl"))
			checkIdentities(t, all, drawn)
			for _, m := range all {
				// A tracker that knows nobody waits for the third sight.
				if c.stage == stage.Tracker && m.Seq >= 10 && len(m.Faces) == 0 {
					t.Errorf("nobody is known on frame %d", m.Seq)
				}
			}
		})
	}
}

// killAndWait ends a stage as kill -9 does and waits until the next one gives frames.
func (r *rig) killAndWait(name string) {
	r.t.Helper()
	pid := r.status()[name].PID
	r.signal(pid, syscall.SIGKILL)
	r.eventually(name+" is back in the flow", func() bool {
		s := r.status()[name]
		return s.PID != 0 && s.PID != pid && s.Cameras["cam0"].Frames > 0
	})
}

// checkIdentities: each drawn face has one identity, 1 or 2, from beginning to end.
func checkIdentities(t *testing.T, all []ipc.Tracks, spec string) {
	t.Helper()
	params, err := source.ParseSynthetic(spec)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b ipc.Tracks) int { return int(int64(a.Seq) - int64(b.Seq)) })
	who := map[int]int{} // identity by drawn face
	for _, m := range all {
		for _, f := range m.Faces {
			drawn := nearest(source.SyntheticTruth(params, int64(m.Seq)), f)
			if who[drawn] == 0 {
				who[drawn] = f.ID
			}
			if who[drawn] != f.ID || f.ID > 2 {
				t.Fatalf("frame %d: face %d has identity %d, was %d", m.Seq, drawn, f.ID, who[drawn])
			}
		}
	}
	if last := all[len(all)-1]; len(who) != 2 || who[0] == who[1] || len(last.Faces) != 2 {
		t.Errorf("identities of the drawn faces: %v, on the last frame %d faces", who, len(last.Faces))
	}
}

// nearest is the drawn face whose centre is nearest to the tracked one's.
func nearest(drawn []source.FaceTruth, f ipc.TrackedFace) int {
	x, y := f.Box[0]+f.Box[2]/2, f.Box[1]+f.Box[3]/2
	best, least := 0, math.Inf(1)
	for _, d := range drawn {
		if off := math.Hypot(d.CX-x, d.CY-y); off < least {
			best, least = d.ID, off
		}
	}
	return best
}
