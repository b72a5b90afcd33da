package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"facetrack/internal/nvml"
)

// benchCameras is the command line over three pictures.
func benchCameras(t *testing.T, args ...string) *BenchCamerasCmd {
	t.Helper()
	clip := filepath.Join(t.TempDir(), "three")
	if err := os.Mkdir(clip, 0o750); err != nil {
		t.Fatal(err)
	}
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 160, 120))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"1.png", "2.png", "3.png"} {
		if err := os.WriteFile(filepath.Join(clip, name), picture.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var cli CLI
	parser, err := kong.New(&cli, kong.Vars{"stages": "detect"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(append([]string{"bench", "cameras", clip, "--size=160x120"}, args...)); err != nil {
		t.Fatal(err)
	}
	t.Setenv(nvml.PipeVariable, t.TempDir()) // no MPS here
	return &cli.Bench.Cameras
}

func TestBenchCamerasRefusesInput(t *testing.T) {
	file := write(t, "file", "")
	for _, c := range []struct{ args, want string }{
		{"--frames=0", "--frames=0: give 1 or more"},
		{"--frames=2000000", "frames=2000000"},
		{"--cameras=-1", "--cameras=-1"},
		{"--from=0", "--from=0"},
		{"--from=9 --most=8", "--most=8: give at least the 9 of --from"},
		{"--trial=0s", "--trial=0s"},
		{"--hold=0s", "--hold=0s"},
		{"--limit=-1ms", "--limit=-1ms"},
		{"--fps=0", "--fps=0"},
		{"--fps=NaN", "--fps=NaN"},
		{"--at-least=9 --cameras=8", "--at-least=9: no more than 8"},
		{"--at-least=-1", "--at-least=-1"},
		{"--ratio=-1", "--ratio=-1"},
		{"--size=large", "--size=large"},
		{"--size=161x120", "--size=161x120"},
		{"--size=640x480,frames=1", "--size=640x480,frames=1"},
		{"--format=JPEG", "--format=JPEG"},
		{"--mps=on", "--mps on: no MPS server runs"},
		{"--out=" + filepath.Join(file, "no", "such.json"), "--out: results could not be written"},
	} {
		b := benchCameras(t, strings.Fields(c.args)...)
		b.rig = func(context.Context, []string) (BenchRun, error) {
			t.Errorf("%s: a rig was started", c.args)
			return BenchRun{}, context.Canceled
		}
		if err := b.Run(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.args, err, c.want)
		}
	}
}

func TestMPSAsAsked(t *testing.T) {
	for _, c := range []struct {
		asked   string
		running bool
		fails   bool
	}{{"auto", false, false}, {"auto", true, false}, {"on", true, false}, {"on", false, true}, {"off", false, false}, {"off", true, true}} {
		got, err := mpsAs(c.asked, nvml.MPS{Running: c.running, Reason: "because"})
		if (err != nil) != c.fails || err == nil && got != c.running || err != nil && !strings.Contains(err.Error(), "because") {
			t.Errorf("%s, running %v: %v, %v", c.asked, c.running, got, err)
		}
	}
}

func TestClaimedFilesKeepTheirContent(t *testing.T) {
	old := write(t, "old.json", "results")
	if err := claimOut("--json", old); err != nil {
		t.Error(err)
	}
	if text, _ := os.ReadFile(old); string(text) != "results" { //nolint:gosec // of this test
		t.Errorf("%q", text)
	}
	nowhere := filepath.Join(old, "x.json")
	if err := (&BenchCPUCmd{Clip: old, Out: nowhere}).Run(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "--out: ") {
		t.Errorf("bench cpu: %v", err)
	}
	if err := parseBenchInfer(t, "--json", nowhere).Run(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "--json: ") {
		t.Errorf("bench infer: %v", err)
	}
	if err := parseBenchIPC(t, "--json", nowhere).Run(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "--json: ") {
		t.Errorf("bench ipc: %v", err)
	}
}

// What was measured is saved whatever the verdict.
func TestBenchCamerasSavesBeforeItFails(t *testing.T) {
	out := filepath.Join(t.TempDir(), "cameras.json")
	b := benchCameras(t, "--mode=processes,host-copy", "--hold=10s", "--most=8", "--at-least=4", "--ratio=4", "--backend=cuda", "--out", out)
	b.rig = func(_ context.Context, args []string) (BenchRun, error) {
		cameras, most, transport := 0, 5, "cuda-ipc"
		for _, a := range args {
			if strings.HasPrefix(a, "memory:") {
				cameras++
			}
		}
		if slices.Contains(args, "--transport") {
			most, transport = 2, "shm"
		}
		run := goodRun(cameras, transport, "cuda")
		if cameras > most {
			run.Summary.Restarts["detect"] = 1
		}
		return run, nil
	}
	err := b.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "processes hold 5 cameras and host-copy 2") || strings.Contains(err.Error(), "at-least") {
		t.Errorf("verdict: %v", err)
	}
	data, err := os.ReadFile(out) //nolint:gosec // of this test
	if err != nil {
		t.Fatal(err)
	}
	var r CamerasResult
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	if r.Clip != "three" || r.Kept != 3 || len(r.Modes) != 2 || r.Modes[0].Held != 5 || r.Modes[1].Held != 2 || r.Modes[0].Final.HoldS != 10 {
		t.Errorf("%+v", r)
	}
	if got := r.Modes[1].whyNoMore(); got != "3: detect was started again 1 time(s)" {
		t.Errorf("host-copy: %q", got)
	}
	var table strings.Builder
	if r.print(&table); !strings.Contains(table.String(), "6: detect was started again 1 time(s)") {
		t.Errorf("why processes hold no more is not told: %s", &table)
	}
}

// A rig that fails under its load is a number of cameras that is not held; one that never runs is an error.
func TestBenchCamerasGoesOnAfterARigThatFails(t *testing.T) {
	for _, c := range []struct {
		most int
		want string
	}{{3, ""}, {0, "processes holds not even one camera; 1: the rig failed: exit status 1"}} {
		b := benchCameras(t, "--mode=processes", "--hold=10s", "--from=8", "--most=8", "--backend=cuda")
		b.rig = func(_ context.Context, args []string) (BenchRun, error) {
			cameras := strings.Count(strings.Join(args, "\n"), "memory:")
			if cameras > c.most {
				return BenchRun{}, errors.New("exit status 1")
			}
			return goodRun(cameras, "cuda-ipc", "cuda"), nil
		}
		if err := b.Run(t.Context()); (err != nil) != (c.want != "") || err != nil && err.Error() != c.want {
			t.Errorf("at most %d cameras: %v", c.most, err)
		}
	}
}
