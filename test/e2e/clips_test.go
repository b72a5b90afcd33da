//go:build e2e

package e2e

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"facetrack/internal/testutil"
	"facetrack/ipc"
)

type peopled struct {
	clip   string
	people int
}

// On real clips everybody is one identity throughout.
func TestIdentitiesOnRealClips(t *testing.T) {
	identities(t, "", []peopled{
		{"head-pose-face-detection-female-and-male.gif", 2},
		{"face-demographics-walking-and-pause.gif", 3},
		{"yes.mkv", 1},
		{"no.mkv", 1},
		{"walk.mkv", 1},
	})
}

// The networks that are part of the program keep people apart as well.
func TestIdentitiesOfOurOwnNetworks(t *testing.T) {
	identities(t, "detect: {model: facetrack-detector}\nlandmarks: {model: facetrack-face}\n", []peopled{
		{"head-pose-face-detection-female-and-male.gif", 2},
		{"yes.mkv", 1},
		{"no.mkv", 1},
	})
}

func identities(t *testing.T, config string, clips []peopled) {
	t.Helper()
	assets := testutil.Assets(t) // the twin is TestFiveProcessesTrackDrawnFaces
	t.Setenv("FACETRACK_ASSETS", assets)
	for _, c := range clips {
		t.Run(c.clip, func(t *testing.T) {
			r := prepare(t)
			s := r.up("--config", r.write("f.yaml", config), "--source", clip(t, assets, c.clip), "--pace", "max", "--no-lsl", "--record", r.path("a.jsonl")).mustEnd()
			if n := s.Cameras["cam0"].TotalDropped(); n > 0 {
				t.Errorf("%d frames dropped", n)
			}
			people := lives(tracks(t, r.path("a.jsonl")))
			if len(people) != c.people {
				t.Errorf("%d identities, want %d", len(people), c.people)
			}
			for id, p := range people {
				t.Logf("identity %d: in %.1f %% of the frames after the first ten, at most %.2f face widths a frame", id, 100*p.presence, p.fastest)
				if p.presence < 0.95 {
					t.Errorf("identity %d is in %.1f %% of the frames after the first ten", id, 100*p.presence)
				}
				if p.fastest > 0.5 { // nobody in these clips moves so fast: it would be somebody else
					t.Errorf("identity %d jumps by %.2f face widths", id, p.fastest)
				}
			}
		})
	}
}

// Faces of about 20 px need the 640 detector: at least three of the four are followed.
func TestSmallFacesOfAClassroom(t *testing.T) {
	assets := testutil.Assets(t)
	t.Setenv("FACETRACK_ASSETS", assets)
	r := prepare(t)
	r.up("--source", clip(t, assets, "classroom.gif"), "--pace", "max", "--no-lsl", "--model", "yunet-640", "--record", r.path("a.jsonl")).mustEnd()
	all := tracks(t, r.path("a.jsonl"))
	few := 0
	for _, m := range all[10:] {
		if len(m.Faces) < 3 {
			few++
		}
	}
	people := lives(all)
	t.Logf("%d identities; %d of %d frames after the first ten with fewer than three", len(people), few, len(all)-10)
	if len(people) < 3 || len(people) > 4 || few > len(all)/20 {
		t.Errorf("%d identities, %d frames with fewer than three faces", len(people), few)
	}
}

func clip(t *testing.T, assets, name string) string {
	t.Helper()
	path := filepath.Join(assets, "media", name)
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// life is what a recording says about one identity.
type life struct {
	presence float64 // share of the frames after the first ten
	fastest  float64 // largest step of its centre between neighbouring frames, in face widths
}

// lives reads the identities of a recording in which sequence numbers are frame numbers.
func lives(all []ipc.Tracks) map[int]*life {
	people := map[int]*life{}
	type sight struct {
		seq uint64
		box [4]float64
	}
	last := map[int]sight{}
	for _, m := range all {
		for _, f := range m.Faces {
			p := people[f.ID]
			if p == nil {
				p = &life{}
				people[f.ID] = p
			}
			if m.Seq >= 10 {
				p.presence += 1 / float64(len(all)-10)
			}
			if before, ok := last[f.ID]; ok && m.Seq > before.seq {
				dx := f.Box[0] + f.Box[2]/2 - before.box[0] - before.box[2]/2
				dy := f.Box[1] + f.Box[3]/2 - before.box[1] - before.box[3]/2
				p.fastest = max(p.fastest, math.Hypot(dx, dy)/before.box[2]/float64(m.Seq-before.seq))
			}
			last[f.ID] = sight{m.Seq, f.Box}
		}
	}
	return people
}
