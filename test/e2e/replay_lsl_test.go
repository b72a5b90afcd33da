//go:build e2e

package e2e

import (
	"fmt"
	"math"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"facetrack/internal/clock"
	"facetrack/lsl"
	"facetrack/xdf/xdftest"
)

// A replay in real time is heard by LSL readers as the rig was: samples are stamped with now, exactly as far apart as frames were captured.
func TestReplayOverLSL(t *testing.T) {
	r := prepare(t)
	r.up("--config", r.config(stored), "--source", "synthetic:faces=1,fps=30", "--duration", "8s", "--record", r.path("a.jsonl")).mustEnd()
	captured := map[string]bool{} // distances of two frames, ns
	var before int64
	for _, m := range tracks(t, r.path("a.jsonl")) {
		captured[fmt.Sprint(m.CaptureNS-before)] = true
		before = m.CaptureNS
	}
	playing := prepare(t)
	playing.name = "other-" + r.name
	cmd := exec.Command(program, append([]string{"replay", "--as", playing.name}, r.here()...)...) //nolint:gosec // the program under test
	playing.start(cmd)
	next := feed(t, playing.find("cam0:face:1:expression"))
	var last float64
	for n := range 60 {
		s := next()
		if age := lsl.Seconds(clock.Now()) - s.Stamp; age < 0 || age > 5 {
			t.Fatalf("sample %d was taken %.3f s ago", n, age)
		}
		ns := math.Round((s.Stamp - last) * 1e9)
		if n > 0 && !near(captured, ns) {
			t.Errorf("sample %d is %.0f ns after the one before, which no two frames were", n, ns)
		}
		last = s.Stamp
	}
	playing.interrupt()
	if status := playing.wait(); status != 0 {
		t.Errorf("status %d:\n%s", status, playing.stderr)
	}
}

// near allows for what a stamp in seconds, a float64, cannot tell.
func near(all map[string]bool, ns float64) bool {
	for d := -1000.0; d <= 1000; d++ {
		if all[fmt.Sprintf("%.0f", ns+d)] {
			return true
		}
	}
	return false
}

// A file of streams that a replay writes has the samples of then, with their stamps, however fast it goes.
func TestReplayToXDF(t *testing.T) {
	r := prepare(t)
	r.up("--config", r.config(stored+twoSeats), "--duration", "6s", "--xdf", r.path("a.xdf")).mustEnd()
	r.replayed(append(r.here(), "--xdf", r.path("b.xdf"), "--speed", "max")...)
	then, again := rows(t, r.path("a.xdf")), rows(t, r.path("b.xdf"))
	if len(then) < 6 || len(then) != len(again) {
		t.Errorf("%d and %d streams", len(then), len(again))
	}
	for name, want := range then {
		if strings.HasSuffix(name, " events") {
			continue // which also tells what only a rig that runs can know
		}
		got := again[name]
		if strings.HasSuffix(name, " synchrony") { // its windows begin with the frame of either camera that was compared first
			if d := len(want) - len(got); len(want) == 0 || d < -1 || d > 1 {
				t.Errorf("%s: %d samples, want %d", name, len(got), len(want))
			}
			continue
		}
		if len(want) == 0 || len(want) != len(got) {
			t.Errorf("%s: %d samples, want %d", name, len(got), len(want))
			continue
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: sample %d: %.200s\nwant %.200s", name, i, got[i], want[i])
				break
			}
		}
	}
}

var rigName = regexp.MustCompile(`^facetrack \S+`)

// rows are the samples of each stream of a file, by its name without that of the rig.
func rows(t *testing.T, path string) map[string][]string {
	t.Helper()
	file, err := xdftest.Parse([]byte(read(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, s := range file.Streams {
		name := rigName.ReplaceAllString(s.Header.Name, "")
		all[name] = nil
		for _, row := range s.Samples {
			all[name] = append(all[name], fmt.Sprintf("%.9f %s", row.Stamp, row.Values))
		}
	}
	return all
}
