package app

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"facetrack/internal/config"
	"facetrack/internal/latency"
	"facetrack/internal/ledger"
	"facetrack/internal/monitor"
	"facetrack/internal/recorder"
	"facetrack/internal/telemetry"
	"facetrack/ipc"
)

func finished() Summary {
	cam := ledger.Summary{
		Captured: 100, Tracked: 90, Dropped: map[string]uint64{"detect:overwritten": 3, "capture:no-free-slot": 7}, End: ipc.EndOfSource, FPS: 29.97,
		Identities: map[int]uint64{1: 90, 2: 10},
		LatencyMS:  ledger.Latency{CaptureToTracks: latency.Percentiles{Mean: 13, P50: 12.34, P95: 20, P99: 30.06, Max: 41}},
	}
	return Summary{
		Rig: "lab", Mode: "processes", DurationS: 4, Restarts: map[string]int{"detect": 2, "tracker": 0},
		Backends: map[string]string{"detect": "cpu"}, Recording: &Recording{File: "a.jsonl", Lines: 90, Bytes: 12345},
		Cameras: map[string]CameraSummary{
			"right": {Summary: ledger.Empty()},
			"left": {
				Summary: cam, WorkMS: map[string]float64{"detect": 1.5},
				Links: map[string]telemetry.Link{"detect": {Transport: "shm", Reason: "no GPU"}, "landmarks": {Transport: "copy", Reason: "another host"}},
			},
		},
	}
}

func TestSummaryTable(t *testing.T) {
	var out bytes.Buffer
	finished().print(&out)
	lines := strings.Split(out.String(), "\n")
	fields := func(prefix string) []string {
		for _, l := range lines {
			if strings.HasPrefix(l, prefix) {
				return strings.Fields(l)
			}
		}
		t.Fatalf("no line %q in\n%s", prefix, out.String())
		return nil
	}
	if got, want := fields("left "), strings.Fields("left 2 30.0 100 90 10 12.3 20.0 30.1 41.0"); !reflect.DeepEqual(got, want) {
		t.Errorf("left: %q, want %q", got, want)
	}
	if got, want := fields("right "), strings.Fields("right 0 0.0 0 0 0 0.0 0.0 0.0 0.0"); !reflect.DeepEqual(got, want) {
		t.Errorf("right: %q, want %q", got, want)
	}
	tail := out.String()[strings.Index(out.String(), "right "):]
	_, tail, _ = strings.Cut(tail, "\n")
	want := "  left dropped 7: capture:no-free-slot\n  left dropped 3: detect:overwritten\n" +
		"  left → detect: shm (no GPU)\n  left → landmarks: copy (another host)\n" +
		"  detect was started again 2 time(s)\nrecorded 90 frames in a.jsonl\n"
	if tail != want {
		t.Errorf("after the table:\n%swant\n%s", tail, want)
	}
}

// The names are an interface: scripts read the file.
func TestSummaryFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.json")
	if err := finished().write(path); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var again Summary
	if err := json.Unmarshal(data, &again); err != nil || again.Cameras["left"].Tracked != 90 || data[len(data)-1] != '\n' {
		t.Errorf("read again: %+v, %v", again, err)
	}
	var doc struct {
		Mode      string         `json:"mode"`
		Restarts  map[string]int `json:"restarts"`
		Recording map[string]any `json:"recording"`
		Cameras   map[string]struct {
			Captured uint64            `json:"captured"`
			Dropped  map[string]uint64 `json:"dropped"`
			Latency  struct {
				CaptureToTracks map[string]float64 `json:"capture_to_tracks"`
			} `json:"latency_ms"`
			Links map[string]map[string]any `json:"links"`
		} `json:"cameras"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	left := doc.Cameras["left"]
	if doc.Mode != "processes" || doc.Restarts["detect"] != 2 || doc.Recording["lines"] != 90.0 || left.Captured != 100 ||
		left.Dropped["capture:no-free-slot"] != 7 || left.Latency.CaptureToTracks["p99"] != 30.06 || left.Links["detect"]["transport"] != "shm" {
		t.Errorf("%s", data)
	}
	if err := finished().write(filepath.Join(path, "below a file")); err == nil {
		t.Error("written below a file")
	}
}

// What the stages said last and what the ledger knows come together; a camera without a frame is listed too.
func TestSummaryGathers(t *testing.T) {
	file, err := recorder.Create(filepath.Join(t.TempDir(), "a.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Line([]byte("{}")); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	m := &monitor.Monitor{Ledger: ledger.New(time.Second)}
	m.Ledger.Reached("cam0", 0, ledger.Done, time.Now())
	r := &rig{
		cmd: &UpCmd{Threads: true}, begin: time.Now(), monitor: m, record: file,
		cfg: config.Config{Rig: "lab", Cameras: []config.Camera{{Name: "cam0"}, {Name: "cam1"}}},
		last: map[string]telemetry.Stats{
			"detect": {Backend: "cpu", Cameras: map[string]telemetry.CameraStats{
				"cam0":    {Link: &telemetry.Link{Transport: "shm"}, WorkMS: latency.Percentiles{Mean: 2.5}},
				"unknown": {Link: &telemetry.Link{Transport: "copy"}},
			}},
			"tracker": {},
		},
	}
	s := r.summary(map[string]int{"detect": 1})
	if s.Mode != "threads" || s.Rig != "lab" || s.Version == "" || s.Restarts["detect"] != 1 || !reflect.DeepEqual(s.Backends, map[string]string{"detect": "cpu"}) {
		t.Errorf("%+v", s)
	}
	if c := s.Cameras["cam0"]; c.Tracked != 1 || c.Links["detect"].Transport != "shm" || c.WorkMS["detect"] != 2.5 {
		t.Errorf("cam0: %+v", c)
	}
	if c, ok := s.Cameras["cam1"]; !ok || c.Captured != 0 || c.Dropped == nil || len(s.Cameras) != 2 {
		t.Errorf("cam1: %+v of %d cameras", c, len(s.Cameras))
	}
	if s.Recording.Lines != 1 || s.Recording.Bytes != 3 || s.Recording.File != file.Path() || s.Recording.Error != "" {
		t.Errorf("recording %+v", s.Recording)
	}
}

func TestSummaryIsClaimedBeforeTheRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.json")
	if err := claimSummary(path); err != nil {
		t.Error(err)
	}
	if err := claimSummary(path); err == nil || !strings.Contains(err.Error(), "left alone") {
		t.Errorf("claimed twice: %v", err)
	}
	link := filepath.Join(t.TempDir(), "link.json")
	if err := os.Symlink("nowhere.json", link); err != nil {
		t.Fatal(err)
	}
	if err := claimSummary(link); err == nil {
		t.Error("a link was followed")
	}
	old := write(t, "old.json", "precious")
	if err := claimSummary(old); err == nil {
		t.Error("an existing file was claimed")
	}
	if text, _ := os.ReadFile(old); string(text) != "precious" {
		t.Errorf("the claim changed a file: %q", text)
	}
	if err := claimSummary(filepath.Join(t.TempDir(), "no", "such", "s.json")); err == nil {
		t.Error("a folder that is not there")
	}
}
