//go:build e2e

package e2e

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"facetrack/internal/app"
	"facetrack/internal/source"
	"facetrack/internal/testmodels"
	"facetrack/ipc"
	"facetrack/lsl"
	"facetrack/xdf/xdftest"
)

// apart is a clip of two drawn faces that never come so close that a crop of one shows the other: the calculated
// networks could not tell them apart.
func apart(t *testing.T, frames int64) string {
	t.Helper()
	for seed := 1; seed < 1000; seed++ {
		spec := fmt.Sprintf("synthetic:faces=2,frames=%d,size=640x480,seed=%d", frames, seed)
		params, err := source.ParseSynthetic(spec)
		if err != nil {
			t.Fatal(err)
		}
		near := false
		for i := range frames {
			f := source.SyntheticTruth(params, i)
			near = near || max(math.Abs(f[0].CX-f[1].CX), math.Abs(f[0].CY-f[1].CY)) < 1.5*f[0].Size
		}
		if !near {
			return spec
		}
	}
	t.Fatal("no such clip")
	return ""
}

// Every frame of an offline run reaches tracks, and the faces are where they were drawn.
func TestFiveProcessesTrackDrawnFaces(t *testing.T) {
	for _, mode := range []struct {
		name  string
		flags []string
		link  string
	}{
		{"processes", nil, processLink},
		{"threads", []string{"--threads"}, threadLink},
		{"copy", []string{"--transport", "copy"}, "copy"},
	} {
		t.Run(mode.name, func(t *testing.T) {
			r, drawn := prepare(t), apart(t, 150)
			args := append([]string{"--config", r.config("tracker: {keep_raw: true}\n"), "--source", drawn, "--pace", "max", "--record", r.path("a.jsonl")}, mode.flags...)
			s := r.up(args...).mustEnd()
			cam := s.Cameras["cam0"]
			if cam.Captured != 150 || cam.Tracked != 150 {
				t.Errorf("captured %d, tracked %d, want 150; dropped %v", cam.Captured, cam.Tracked, cam.Dropped)
			}
			if len(cam.Identities) != 2 {
				t.Errorf("identities %v, want 2", cam.Identities)
			}
			checkLinks(t, cam, mode.link)
			checkTruth(t, tracks(t, r.path("a.jsonl")), drawn)
		})
	}
}

func checkLinks(t *testing.T, cam app.CameraSummary, transport string) {
	t.Helper()
	for _, stage := range []string{"detect", "landmarks"} {
		link := cam.Links[stage]
		if link.Transport != transport || link.Reason == "" {
			t.Errorf("%s reads pixels by %q (%q), want %q and a reason", stage, link.Transport, link.Reason, transport)
		}
	}
}

// checkTruth compares raw positions with what the source has drawn. Sequence numbers are frame numbers here.
func checkTruth(t *testing.T, all []ipc.Tracks, spec string) {
	t.Helper()
	params, err := source.ParseSynthetic(spec)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b ipc.Tracks) int { return int(int64(a.Seq) - int64(b.Seq)) })
	late, worst, worstSmooth := 0, 0.0, 0.0
	for i, m := range all {
		if m.Seq != uint64(i) {
			t.Fatalf("frame %d of the recording has sequence number %d", i, m.Seq)
		}
		if i >= 10 && len(m.Faces) != params.Faces {
			late++
		}
		for _, f := range m.Faces {
			truth := source.SyntheticTruth(params, int64(i))
			worst = max(worst, offTruth(f.Raw.Points, truth))
			worstSmooth = max(worstSmooth, offTruth(f.Points, truth))
		}
	}
	if late > 0 {
		t.Errorf("%d frames after the first ten do not hold %d faces", late, params.Faces)
	}
	t.Logf("irises at most %.2f px from where they were drawn, smoothed %.2f px", worst, worstSmooth)
	if worst > 0.5 || worstSmooth > 5 { // px; smoothing lags behind moving faces
		t.Errorf("an iris is %.2f px from where it was drawn, smoothed %.2f px", worst, worstSmooth)
	}
}

// offTruth is how far the irises of a tracked face are from the nearest drawn ones, px.
func offTruth(points ipc.Points, truth []source.FaceTruth) float64 {
	best := math.Inf(1)
	for _, want := range truth {
		r, l := points[testmodels.RightIris], points[testmodels.LeftIris]
		off := max(math.Hypot(float64(r[0])-want.RightEye[0], float64(r[1])-want.RightEye[1]),
			math.Hypot(float64(l[0])-want.LeftEye[0], float64(l[1])-want.LeftEye[1]))
		best = min(best, off)
	}
	return best
}

// A recorded line holds what the documentation promises.
func TestRecordedLine(t *testing.T) {
	r := prepare(t)
	r.up("--config", r.config(""), "--source", "synthetic:faces=1,frames=30", "--pace", "max", "--record", r.path("a.jsonl")).mustEnd()
	all := tracks(t, r.path("a.jsonl"))
	m := all[len(all)-1]
	if m.Camera != "cam0" || m.CaptureNS == 0 || m.Width != 640 || m.Height != 480 || len(m.Faces) != 1 {
		t.Fatalf("last line: %+v", m.Frame)
	}
	f := m.Faces[0]
	if f.ID != 1 || f.Score < 0.9 || len(f.Points) != 478 || len(f.Blendshapes) != 52 {
		t.Errorf("face: id %d, score %v, %d points, %d blendshapes", f.ID, f.Score, len(f.Points), len(f.Blendshapes))
	}
	if g := f.Gaze; g == nil || g.Left == nil || g.Right == nil || math.Abs(g.Pitch) > 30 || math.Abs(g.Yaw) > 30 {
		t.Errorf("gaze %+v, want both eyes' and roughly ahead", g)
	}
	for i, v := range f.Blendshapes {
		if math.Abs(v-testmodels.Blendshape(i)) > 1e-3 {
			t.Fatalf("blendshape %d is %v, want %v", i, v, testmodels.Blendshape(i))
		}
	}
	if math.Abs(f.Box[2]-96) > 2 || math.Abs(f.Box[3]-96) > 2 {
		t.Errorf("box %v, want 96 × 96 px", f.Box)
	}
	// The face is drawn flat wherever it is; off the centre that is what a head turned towards the camera's axis looks like.
	if math.Abs(f.Pose.Pitch) > 20 || math.Abs(f.Pose.Yaw) > 20 || math.Abs(f.Pose.Roll) > 3 || f.Pose.Z <= 0 {
		t.Errorf("pose of a frontal face: %+v", f.Pose)
	}
}

// In real time four cameras keep their pace, and Ctrl-C ends in order.
func TestRealTimeAndInterrupt(t *testing.T) {
	r := prepare(t)
	args := []string{"--config", r.config("")}
	for i := range 4 {
		args = append(args, "--source", fmt.Sprintf("synthetic:faces=1,fps=15,seed=%d", i))
	}
	r.up(args...)
	r.eventually("every camera is tracked", func() bool {
		tracker := r.status()["tracker"]
		for _, c := range tracker.Cameras {
			if c.Frames < 30 {
				return false
			}
		}
		return len(tracker.Cameras) == 4
	})
	r.interrupt()
	s := r.mustEnd()
	for name, c := range s.Cameras {
		if c.Tracked < 30 || len(c.Identities) != 1 {
			t.Errorf("%s: tracked %d, identities %v, dropped %v", name, c.Tracked, c.Identities, c.Dropped)
		}
	}
	if !strings.Contains(r.stderr.String(), "capture→tracks") {
		t.Error("no summary was printed")
	}
}

// A rig that runs can be looked at and recorded from outside.
func TestRecordAndStatusOfARunningRig(t *testing.T) {
	r := prepare(t)
	r.up("--config", r.config(""), "--source", "synthetic:faces=1,fps=30")
	r.eventually("the rig runs", func() bool { return r.status()["tracker"].Cameras["cam0"].Frames > 5 })
	out := r.path("later.jsonl")
	if text, err := command(t, "record", out, "--xdf", r.path("later.xdf"), "--nats", r.url, "--rig", r.name, "--duration", "1s").CombinedOutput(); err != nil {
		t.Fatalf("record: %v\n%s", err, text)
	}
	recorded := tracks(t, out)
	if len(recorded) < 5 {
		t.Errorf("%d frames recorded", len(recorded))
	}
	data, err := os.ReadFile(r.path("later.xdf"))
	if err != nil {
		t.Fatal(err)
	}
	stamps := map[float64]bool{}
	for _, s := range xdftest.MustParse(t, data).Streams {
		for _, row := range s.Samples {
			stamps[row.Stamp] = stamps[row.Stamp] || s.Header.Name == "facetrack "+r.name+" cam0 face 1 expression"
		}
	}
	for _, m := range recorded { // the XDF file begins first and ends last
		if !stamps[lsl.Seconds(m.CaptureNS)] {
			t.Errorf("frame %d is not in the XDF file", m.Seq)
		}
	}
	text, err := command(t, "status", "--nats", r.url, "--rig", r.name).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"capture", "detect", "landmarks", "tracker", "lsl-out", processLink, "running"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("status does not say %q:\n%s", want, text)
		}
	}
	if _, err := os.Stat(r.path("a.jsonl")); err == nil {
		t.Error("a recording nobody asked for")
	}
}
