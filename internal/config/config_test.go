package config

import (
	"errors"
	"fmt"
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
	want.Cameras, want.Participants, want.Hosts, want.LSL.Interfaces, want.Synchrony.Pairs = []Camera{}, []Participant{}, []Host{}, []string{}, [][]string{}
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
		"key elsewhere":    {"lsl:\n  participants: 2\n", `line 2: unknown key "participants" here (see facetrack.example.yaml`},
		"wrong type":       {"ring:\n  slots: many\n", "line 2"},
		"bad syntax":       {"rig: [\n", "line"},
		"out of range":     {"detect:\n  every: 0\n", `f.yaml line 2: invalid configuration: detect.every is "0"; it must be 1 to 1000`},
		"bad name":         {"cameras:\n  - name: a.b\n    source: x\n", `line 2: invalid configuration: cameras[0].name is "a.b"`},
		"twice":            {"cameras:\n  - {name: a, source: x}\n  - {name: a, source: y}\n", "no other camera"},
		"no source":        {"cameras:\n  - name: a\n", "cameras[0].source"},
		"pace":             {"cameras:\n  - {source: x, pace: slow}\n", "cameras[0].pace"},
		"half of TLS":      {"nats:\n  tls: {cert: a.pem}\n", `nats.tls.key is ""; it must be the key of nats.tls.cert`},
		"other half":       {"nats:\n  tls: {key: a.pem}\n", `nats.tls.cert is ""`},
		"tls, wrong key":   {"nats:\n  tls: {crt: a.pem}\n", `line 2: unknown key "crt"`},
		"ipc, wrong key":   {"ipc:\n  gruop: video\n", `line 2: unknown key "gruop" (did you mean "group"?)`},
		"listen":           {"nats:\n  listen: nonsense\n", "nats.listen"},
		"too few slots":    {"ring:\n  min_slots: 1\n", `line 2: invalid configuration: ring.min_slots is "1"; it must be 2 to 8`},
		"more than all":    {"ring:\n  slots: 5\n  min_slots: 6\n", `line 3: invalid configuration: ring.min_slots is "6"; it must be 2 to 5`},
		"no slots":         {"ring:\n  min_slots: 0\n", `line 2: invalid configuration: ring.min_slots is "0"; it must be 2 to 8`},
		"gpu":              {"cuda:\n  gpu: first\n", `line 2: invalid configuration: cuda.gpu is "first"; it must be auto, off, a number`},
		"gpu ordinal":      {"cuda:\n  gpu: -1\n", `line 2: invalid configuration: cuda.gpu is "-1"`},
		"gpu uuid":         {"cuda:\n  gpu: GPU-12345\n", `line 2: invalid configuration: cuda.gpu is "GPU-12345"`},
		"camera's gpu":     {"cameras:\n  - {source: x, gpu: first}\n", `invalid configuration: cameras[0].gpu is "first"; it must be auto, off`},
		"sync":             {"cuda:\n  sync: poll\n", `line 2: invalid configuration: cuda.sync is "poll"; it must be one of ["auto" "events" "memops"]`},
		"cuda, wrong key":  {"cuda:\n  gpus: auto\n", `line 2: unknown key "gpus" (did you mean "gpu"?)`},
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
		{Name: "cam0", Source: "a.mkv", Pace: "realtime"},
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

// A number and the word off are values that YAML readers like to take for something else.
func TestGPU(t *testing.T) {
	for _, gpu := range []string{"auto", "off", "0", "12", "GPU-0a1b2c3d-0000-1111-2222-0123456789ab", "MIG-0a1b2c3d-0000-1111-2222-0123456789ab"} {
		cfg, err := Parse("f.yaml", []byte("cuda: {gpu: "+gpu+", sync: memops}\n"))
		if err != nil || cfg.CUDA != (CUDA{GPU: gpu, Sync: "memops"}) {
			t.Errorf("%s: got %+v, %v", gpu, cfg.CUDA, err)
		}
	}
}

func TestDeviceRing(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "cuda: {gpu: 1}": true, "cuda: {gpu: off}": false, "ring: {transports: [shm, copy]}": false, "ring: {transports: [cuda-ipc]}": true,
	} {
		if cfg, err := Parse("f.yaml", []byte(text)); err != nil || cfg.DeviceRing() != want {
			t.Errorf("%q: %v, %v; want %v", text, cfg.DeviceRing(), err, want)
		}
	}
}

// Who asks for a small ring need not name its least depth as well.
func TestSmallRing(t *testing.T) {
	for slots, want := range map[int]int{2: 2, 3: 3, 4: 4, 9: 4} {
		cfg, err := Parse("f.yaml", fmt.Appendf(nil, "ring: {slots: %d}\n", slots))
		if err != nil || cfg.Ring.Slots != slots || cfg.Ring.MinSlots != want {
			t.Errorf("%d slots: got %+v, %v; want at least %d", slots, cfg.Ring, err, want)
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

func TestFirstCameras(t *testing.T) {
	first := Config{Cameras: []Camera{{Name: "a"}, {Name: "b", Priority: true}}}.FirstCameras()
	if first("a") || !first("b") || first("c") {
		t.Errorf("a %v, b %v, c %v; want b alone", first("a"), first("b"), first("c"))
	}
}
