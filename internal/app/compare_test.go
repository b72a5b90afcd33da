package app

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"facetrack/internal/demo"
	"facetrack/internal/truth"
	"facetrack/ipc"
)

// demoRecording is what a tracker writes of the demo that is wrong by right pixels throughout, and by nothing else.
func demoRecording(t *testing.T, topology string, right float32) string {
	t.Helper()
	clip, err := truth.Read(bytes.NewReader(demo.Truth))
	if err != nil {
		t.Fatal(err)
	}
	var lines []byte
	for i, people := range clip.Frames {
		m := ipc.Tracks{Topology: topology, Frame: ipc.Frame{
			Camera: "cam0", Seq: uint64(i), CaptureNS: 1, WallNS: 1, Ring: "r/cam0/1", Width: clip.Width, Height: clip.Height, Format: "BGR",
			MediaNS: int64(float64(i+1) * 1e9 / clip.FPS),
		}}
		for _, p := range people {
			f := ipc.TrackedFace{ID: p.ID, Box: [4]float64(p.Box), Score: 1, Blendshapes: p.Coefficients, Pose: &ipc.Pose{
				Pitch: p.Pose[0], Yaw: p.Pose[1], Roll: p.Pose[2], X: p.Position[0], Y: p.Position[1], Z: p.Position[2],
			}}
			for _, at := range p.Points {
				f.Points = append(f.Points, [3]float32{float32(at[0]) + right, float32(at[1]), 0})
			}
			m.Faces = append(m.Faces, f)
		}
		line, err := m.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(append(lines, line...), '\n')
	}
	return write(t, "demo.jsonl", string(lines))
}

// spaced has one space where a table has several.
func spaced(text string) string { return strings.Join(strings.Fields(text), " ") }

func TestCompare(t *testing.T) {
	path := demoRecording(t, "facetrack-ict-293", 0)
	code, stdout, stderr := run(t, "compare", path)
	if code != 0 || stderr != "" {
		t.Fatalf("status %d, %q", code, stderr)
	}
	stdout = spaced(stdout)
	for _, want := range []string{"100.0 % of", ", 0 false", "identity switches 0", "0.00 % of the distance of the eyes", "0.00 °", "gaze not measured", "0.000 of 1"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is missing in\n%s", want, stdout)
		}
	}
	truthFile := filepath.Join(t.TempDir(), "truth.gz")
	if err := os.WriteFile(truthFile, demo.Truth, 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr = run(t, "compare", demoRecording(t, "facetrack-ict-293", 5), "--json", "--truth", truthFile, "--camera", "cam0")
	var r truth.Result
	if err := json.Unmarshal([]byte(stdout), &r); code != 0 || err != nil {
		t.Fatalf("status %d, %v, %q", code, err, stderr)
	}
	if r.Recall() != 1 || r.Pose.Mean > 0.01 || r.Points.Mean < 0.03 || r.Points.Mean > 0.2 {
		t.Errorf("%+v, points %+v, want about 5 px of 100", r, r.Points)
	}
}

func TestCompareLeavesOutPointsThatNobodyKnows(t *testing.T) {
	code, stdout, _ := run(t, "compare", demoRecording(t, "of-somebody-else", 0))
	if code != 0 || !strings.Contains(spaced(stdout), "68 points not measured") {
		t.Errorf("status %d\n%s", code, stdout)
	}
}

func TestCompareOfWhatDoesNotFit(t *testing.T) {
	good := demoRecording(t, "facetrack-ict-293", 0)
	for _, c := range []struct {
		args, want []string
	}{
		{[]string{write(t, "a.jsonl", "no recording\n")}, []string{"a.jsonl", "line 1"}},
		{[]string{good, "--camera", "left"}, []string{"no camera left, but cam0"}},
		{[]string{good, "--truth", write(t, "t.json", "{}")}, []string{"t.json", "format"}},
	} {
		code, stdout, stderr := run(t, append([]string{"compare"}, c.args...)...)
		if code != 1 || stdout != "" {
			t.Errorf("%q: status %d, stdout %q", c.args, code, stdout)
		}
		expectLine(t, stderr, c.want...)
	}
	if code, _, stderr := run(t, "compare", filepath.Join(t.TempDir(), "none.jsonl")); code != 2 || !strings.Contains(stderr, "none.jsonl") {
		t.Errorf("status %d, %q", code, stderr)
	}
}
