//go:build e2e

package e2e

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"facetrack/internal/source"
	"facetrack/internal/testutil"
	"facetrack/internal/truth"
)

// offline runs a command where there is no network but the machine's own.
const offline = `exec unshare --user --map-root-user --net sh -c 'ip link set lo up && exec "$@"' sh "$@"`

// compared is what `facetrack compare` tells of a recording of the demo.
func compared(t *testing.T, path string) truth.Result {
	t.Helper()
	out, err := command(t, "compare", "--json", path).Output()
	if err != nil {
		t.Fatalf("compare: %v", err)
	}
	var r truth.Result
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func demoFrames(t *testing.T) uint64 {
	t.Helper()
	s, err := source.Open(t.Context(), source.Demo, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	return uint64(s.Info().Frames)
}

// The demo is in the program: it plays anywhere, and every line of its recording has its place in the truth. The networks of drawn
// faces find nobody who can be counted on.
func TestDemoPlaysWithoutNetwork(t *testing.T) {
	if out, err := exec.Command("sh", "-c", offline, "sh", "true").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: this machine gives no network namespace: %v %s", err, out)
	}
	r := prepare(t)
	s := r.upIn(offline, "--config", r.config(""), "--source", "demo", "--pace", "max", "--record", r.path("a.jsonl")).mustEnd()
	frames := demoFrames(t)
	if cam := s.Cameras["cam0"]; cam.Captured != frames || cam.Tracked != frames {
		t.Errorf("captured %d, tracked %d of %d frames; dropped %v", cam.Captured, cam.Tracked, frames, cam.Dropped)
	}
	if c := compared(t, r.path("a.jsonl")); c.Frames != int(frames) || c.Persons == 0 {
		t.Errorf("%+v", c)
	}
}

// The program's own networks find the two of the demo and know who they are, without anything else on the machine.
func TestDemoIsTrackedByOwnNetworks(t *testing.T) {
	t.Setenv("FACETRACK_ASSETS", "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	trackedDemo(t, "--config", prepare(t).write("own.yaml", "detect: {model: facetrack-detector}\nlandmarks: {model: facetrack-face}\n"))
}

// So do the public ones.
func TestDemoIsTrackedByPublicNetworks(t *testing.T) {
	t.Setenv("FACETRACK_ASSETS", testutil.Assets(t)) // the twin is TestDemoIsTrackedByOwnNetworks
	trackedDemo(t)
}

func trackedDemo(t *testing.T, args ...string) {
	t.Helper()
	r := prepare(t)
	r.up(append(args, "--source", "demo", "--pace", "max", "--no-lsl", "--record", r.path("a.jsonl"))...).mustEnd()
	c := compared(t, r.path("a.jsonl"))
	t.Logf("found %.1f %%, %d false, %d switches, points %+v, pose %+v, gaze %+v, coefficients %+v", 100*c.Recall(), c.False, c.Switches, c.Points, c.Pose, c.Gaze, c.Coefficients)
	if c.Recall() < 0.95 || c.False > c.Persons/100 || c.Switches != 0 {
		t.Errorf("found %.1f %% of %d, %d false, %d switches", 100*c.Recall(), c.Persons, c.False, c.Switches)
	}
	if c.Points == nil || c.Points.Mean > 0.08 || c.Pose == nil || c.Pose.Mean > 8 || c.Coefficients == nil || c.Coefficients.Mean > 0.12 {
		t.Errorf("points %+v, pose %+v, coefficients %+v", c.Points, c.Pose, c.Coefficients)
	}
}

// What make demo runs, on the drawn faces' networks: it says how the run was and how far from the truth.
func TestDemoScript(t *testing.T) {
	for source, truth := range map[string]bool{"": true, "synthetic:faces=1": false} {
		r := prepare(t)
		cmd := exec.CommandContext(t.Context(), filepath.Join(testutil.RepoRoot(), "scripts", "demo.sh"), "--rig", r.name, "--config", r.config("")) //nolint:gosec // of this repository
		cmd.Env = append(cmd.Environ(), "DEMO_SECONDS=2", "DEMO_OUT="+r.path("out"), "DEMO_SOURCE="+source)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, want := range []string{"people", "frames/s", "recorded"} {
			if !strings.Contains(string(out), want) {
				t.Errorf("source %q: %q is missing in\n%s", source, want, out)
			}
		}
		for _, want := range []string{"against the truth, cam0", "faces found", "identity switches"} {
			if strings.Contains(string(out), want) != truth {
				t.Errorf("source %q: %q in\n%s", source, want, out)
			}
		}
	}
}
