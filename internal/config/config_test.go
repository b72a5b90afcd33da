package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"facetrack/internal/testutil"
)

func TestExampleFileIsTheDefault(t *testing.T) {
	cfg, err := Load(filepath.Join(testutil.RepoRoot(), "facetrack.example.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Cameras = []Camera{}
	if !reflect.DeepEqual(cfg, want) {
		t.Errorf("facetrack.example.yaml differs from Default():\n got %+v\nwant %+v", cfg, want)
	}
}

func TestExampleFileNamesEveryKey(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(testutil.RepoRoot(), "facetrack.example.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys(reflect.TypeFor[Config]()) {
		if !strings.Contains(string(text), key+":") {
			t.Errorf("facetrack.example.yaml does not mention %q", key)
		}
	}
}

func TestParseErrorsNameLineAndKey(t *testing.T) {
	for name, c := range map[string]struct{ yaml, want string }{
		"unknown key":      {"rig: lab\ndetect:\n  evrey: 3\n", `line 3: unknown key "evrey" (did you mean "every"?)`},
		"unknown, no hint": {"zzzzzzzzzz: 1\n", `line 1: unknown key "zzzzzzzzzz" (see facetrack.example.yaml`},
		"wrong type":       {"ring:\n  slots: many\n", "line 2"},
		"bad syntax":       {"rig: [\n", "line"},
		"out of range":     {"detect:\n  every: 0\n", `f.yaml line 2: invalid configuration: detect.every is "0"; it must be 1 to 1000`},
		"bad name":         {"cameras:\n  - name: a.b\n    source: x\n", `line 2: invalid configuration: cameras[0].name is "a.b"`},
		"twice":            {"cameras:\n  - {name: a, source: x}\n  - {name: a, source: y}\n", "no other camera"},
		"no source":        {"cameras:\n  - name: a\n", "cameras[0].source"},
		"pace":             {"cameras:\n  - {source: x, pace: slow}\n", "cameras[0].pace"},
		"listen":           {"nats:\n  listen: nonsense\n", "nats.listen"},
		"not a number":     {"tracker:\n  memory_s: .nan\n", "tracker.memory_s"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("f.yaml", []byte(c.yaml))
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "f.yaml") {
				t.Errorf("got %v\nwant ErrInvalid with %q and the file's name", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
		})
	}
}

func TestParseFillsCameras(t *testing.T) {
	cfg, err := Parse("f.yaml", []byte("cameras:\n  - source: a.mkv\n  - {name: left, source: b.mkv, hfov_degrees: 90}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Camera{
		{Name: "cam0", Source: "a.mkv", Pace: "realtime", HFOV: 60},
		{Name: "left", Source: "b.mkv", Pace: "realtime", HFOV: 90},
	}
	if !reflect.DeepEqual(cfg.Cameras, want) {
		t.Errorf("got %+v, want %+v", cfg.Cameras, want)
	}
}

func TestEmptyFileIsDefault(t *testing.T) {
	for _, text := range []string{"", "\n", "# only a comment\n"} {
		cfg, err := Parse("f.yaml", []byte(text))
		if err != nil || !reflect.DeepEqual(cfg, Default()) {
			t.Errorf("%q: got %+v, %v", text, cfg, err)
		}
	}
}

func TestUnnamedKeysKeepTheirDefault(t *testing.T) {
	cfg, err := Parse("f.yaml", []byte("tracker:\n  smoothing:\n    points: {beta: 9}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Tracker.Smoothing.Points.Beta = 9
	if !reflect.DeepEqual(cfg, want) {
		t.Errorf("got %+v\nwant %+v", cfg, want)
	}
}

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "abc", 3}, {"kitten", "sitting", 3}, {"every", "every", 0}, {"evrey", "every", 2}} {
		if got := editDistance(c.a, c.b); got != c.want {
			t.Errorf("editDistance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestHomeFolder(t *testing.T) {
	t.Setenv("HOME", "/home/lab")
	cfg, err := Parse("f.yaml", []byte("data_dir: ~/data\ncameras:\n  - source: ~/clips/a.mkv\n  - source: a~/b\n"))
	if err != nil {
		t.Fatal(err)
	}
	if cfg.DataDir != "/home/lab/data" || cfg.Cameras[0].Source != "/home/lab/clips/a.mkv" || cfg.Cameras[1].Source != "a~/b" {
		t.Errorf("data %q, sources %q and %q", cfg.DataDir, cfg.Cameras[0].Source, cfg.Cameras[1].Source)
	}
}
