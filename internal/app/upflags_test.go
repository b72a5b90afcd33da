package app

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"facetrack/internal/config"
)

const twoCameras = `rig: bench
nats: {listen: "127.0.0.1:5000"}
detect: {model: yunet-640, every: 3}
infer: {backend: reference}
cameras:
  - {name: left, source: left.mkv, pace: max, hfov_degrees: 90}
  - {name: right, source: right.mkv}
`

func configured(t *testing.T, args ...string) (config.Config, error) {
	t.Helper()
	cli, err := parse(t, append([]string{"up"}, args...)...)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return cli.Up.configuration()
}

func mustConfigure(t *testing.T, args ...string) config.Config {
	t.Helper()
	cfg, err := configured(t, args...)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return cfg
}

func TestWithoutFlagsTheFileHolds(t *testing.T) {
	path := write(t, "f.yaml", twoCameras)
	want, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := mustConfigure(t, "--config", path); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestFlagsWinOverTheFile(t *testing.T) {
	path := write(t, "f.yaml", twoCameras)
	got := mustConfigure(t, "--config", path, "--rig", "lab2", "--listen", "127.0.0.1:6000", "--nats", "nats://bus:4222",
		"--data-dir", "/data", "--model", "blazeface", "--backend", "cpu", "--transport", "shm", "--transport", "copy", "--no-lsl",
		"--gpu", "1", "--gpu-sync", "memops", "--infer-mode", "latency", "--precision", "fp32")
	want, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	want.Rig, want.NATS, want.DataDir = "lab2", config.NATS{URL: "nats://bus:4222", Listen: "127.0.0.1:6000"}, "/data"
	want.Detect.Model, want.Infer.Backend, want.Infer.Mode, want.Infer.Precision = "blazeface", "cpu", "latency", "fp32"
	want.CUDA = config.CUDA{GPU: "1", Sync: "memops"}
	want.Ring.Transports, want.LSL.Enabled = []string{"shm", "copy"}, false
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestSourcesReplaceTheFilesList(t *testing.T) {
	path := write(t, "f.yaml", twoCameras)
	got := mustConfigure(t, "--config", path, "--source", "a.mkv", "-s", "rtsp://cam/1")
	want := []config.Camera{
		{Name: "cam0", Source: "a.mkv", Pace: "realtime"}, {Name: "cam1", Source: "rtsp://cam/1", Pace: "realtime"},
	}
	if !reflect.DeepEqual(got.Cameras, want) || got.Rig != "bench" || got.Detect.Every != 3 {
		t.Errorf("cameras %+v, rig %q, every %d", got.Cameras, got.Rig, got.Detect.Every)
	}
}

// The keys of a drawn clip are separated by commas, and file names may hold one.
func TestCommaInASourceIsKept(t *testing.T) {
	got := mustConfigure(t, "--source", "synthetic:faces=2,size=640x480,seed=3", "--source", "take 1, final.mkv")
	if len(got.Cameras) != 2 || got.Cameras[0].Source != "synthetic:faces=2,size=640x480,seed=3" || got.Cameras[1].Source != "take 1, final.mkv" {
		t.Errorf("cameras %+v", got.Cameras)
	}
}

func TestPaceAndLoopGoToEveryCamera(t *testing.T) {
	path := write(t, "f.yaml", twoCameras)
	for _, c := range []struct {
		args  []string
		paces [2]string
		loop  bool
	}{
		{nil, [2]string{"max", "realtime"}, false},
		{[]string{"--pace", "realtime"}, [2]string{"realtime", "realtime"}, false},
		{[]string{"--pace", "max", "--loop"}, [2]string{"max", "max"}, true},
	} {
		got := mustConfigure(t, append([]string{"--config", path}, c.args...)...).Cameras
		if got[0].Pace != c.paces[0] || got[1].Pace != c.paces[1] || got[0].Loop != c.loop || got[1].Loop != c.loop || got[0].HFOV != 90 {
			t.Errorf("%q: %+v", c.args, got)
		}
	}
	looped := write(t, "g.yaml", "cameras: [{source: a.mkv, loop: true}]")
	if got := mustConfigure(t, "--config", looped); !got.Cameras[0].Loop {
		t.Error("the file's loop is lost")
	}
}

func TestWrongConfigurations(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--source", "a", "--pace", "slow"}, `cameras[0].pace is "slow"`},
		{[]string{"--source", "a", "--duration=-5s"}, "must not be negative"},
		{[]string{"--source", "a", "--record", "/tmp/x", "--summary", "/tmp/x"}, "same file /tmp/x"},
		{nil, "--source"},
		{[]string{"--config", filepath.Join(t.TempDir(), "none.yaml")}, "none.yaml"},
		{[]string{"--source", "a", "--rig", "no spaces"}, "rig is"},
		{[]string{"--source", "a", "--listen", "nonsense"}, "nats.listen"},
		{[]string{"--source", "a", "--backend", "abacus"}, "infer.backend"},
		{[]string{"--source", "a", "--gpu", "big"}, `cuda.gpu is "big"`},
		{[]string{"--source", "a", "--gpu-sync", "poll"}, `cuda.sync is "poll"`},
		{[]string{"--source", ""}, "cameras[0].source"},
	} {
		if _, err := configured(t, c.args...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.args, err, c.want)
		}
	}
	if _, err := configured(t, "--source", "a", "--rig", "no spaces"); !errors.Is(err, config.ErrInvalid) {
		t.Errorf("not marked as invalid: %v", err)
	}
}

func TestWrongFlags(t *testing.T) {
	for _, args := range [][]string{
		{"up", "--transport", "pigeon"}, {"up", "--log-level", "loud"}, {"up", "--duration", "soon"}, {"up", "--nonsense"}, {},
	} {
		if _, err := parse(t, args...); err == nil {
			t.Errorf("%q was accepted", args)
		}
	}
}

// Children run in another folder; what is no path stays as it is.
func TestPathsBecomeAbsolute(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"a.mkv", "demo"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg := config.Config{Cameras: []config.Camera{
		{Source: "a.mkv"}, {Source: "synthetic:faces=1"}, {Source: "rtsp://x/y"}, {Source: "none.mkv"}, {Source: "demo"}, {Source: "memory:size=640x480:demo"},
	}}
	if err := absolute(&cfg); err != nil {
		t.Fatal(err)
	}
	if got, _ := filepath.EvalSymlinks(cfg.Cameras[0].Source); !filepath.IsAbs(cfg.Cameras[0].Source) || filepath.Base(got) != "a.mkv" {
		t.Errorf("path %q", cfg.Cameras[0].Source)
	}
	if cfg.Cameras[1].Source != "synthetic:faces=1" || cfg.Cameras[2].Source != "rtsp://x/y" || cfg.Cameras[3].Source != "none.mkv" ||
		cfg.Cameras[4].Source != "demo" || cfg.Cameras[5].Source != "memory:size=640x480:demo" {
		t.Errorf("changed: %+v", cfg.Cameras)
	}
}
