//go:build e2e

package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each mistake gives one clear line and a status that is not 0.
func TestWrongInput(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	for _, c := range []struct {
		name string
		args func(r *rig) []string
		want []string
	}{
		{"missing video", func(r *rig) []string { return []string{"--config", r.config(""), "--source", r.path("no.mkv")} },
			[]string{"no.mkv", "does not exist"}},
		{"corrupt video", func(r *rig) []string {
			return []string{"--config", r.config(""), "--source", r.write("bad.mkv", strings.Repeat("not a video ", 500))}
		}, []string{"bad.mkv"}},
		{"corrupt gif", func(r *rig) []string {
			return []string{"--config", r.config(""), "--source", r.write("bad.gif", "GIF89a and then nothing that makes sense")}
		}, []string{"bad.gif", "corrupt"}},
		{"empty folder", func(r *rig) []string {
			if err := os.Mkdir(r.path("empty"), 0o700); err != nil {
				r.t.Fatal(err)
			}
			return []string{"--config", r.config(""), "--source", r.path("empty")}
		}, []string{"empty", ".png"}},
		{"unknown key", func(r *rig) []string { return []string{"--config", r.write("f.yaml", "rig: x\ndetekt:\n  every: 3\n")} },
			[]string{"f.yaml line 2", `"detekt"`, `"detect"`}},
		{"no source", func(r *rig) []string { return nil }, []string{"--source"}},
		{"wrong synthetic key", func(r *rig) []string { return []string{"--config", r.config(""), "--source", "synthetic:people=3"} },
			[]string{"people", "faces"}},
		{"port taken", func(r *rig) []string {
			return []string{"--config", r.config(""), "--source", "synthetic:", "--listen", taken.Addr().String()}
		}, []string{"is taken", "--nats", "--listen"}},
		{"no server", func(r *rig) []string {
			return []string{"--config", r.config(""), "--source", "synthetic:", "--nats", fmt.Sprintf("nats://127.0.0.1:%d", freePort(r.t))}
		}, []string{"no NATS server"}},
		{"recording exists", func(r *rig) []string {
			return []string{"--config", r.config(""), "--source", "synthetic:", "--record", r.write("old.jsonl", "precious\n")}
		}, []string{"old.jsonl", "exists"}},
		{"summary exists", func(r *rig) []string {
			return []string{"--config", r.config(""), "--source", "synthetic:", "--summary", r.write("old.jsonl", "precious\n")}
		}, []string{"old.jsonl", "exists"}},
		{"summary is the recording", func(r *rig) []string {
			if err := os.Symlink(r.dir, r.path("alias")); err != nil {
				r.t.Fatal(err)
			}
			return []string{"--config", r.config(""), "--source", "synthetic:", "--record", r.path("new.json"), "--summary", r.path("alias/new.json")}
		}, []string{"new.json", "exists"}},
		{"unknown model", func(r *rig) []string { return []string{"--source", "synthetic:", "--model", "nonsense"} },
			[]string{"nonsense", "yunet-320", "facetrack-detector"}},
		{"unknown landmark model", func(r *rig) []string {
			return []string{"--config", r.write("f.yaml", "landmarks: {model: nonsense}\n"), "--source", "synthetic:"}
		}, []string{"nonsense", "face-landmarker", "facetrack-face"}},
		{"a detector for landmarks", func(r *rig) []string {
			landmarksOf(r)
			return []string{"--config", r.write("f.yaml", "landmarks: {model: "+r.path("synthetic.onnx")+"}\n"), "--source", "synthetic:"}
		}, []string{"synthetic.onnx as a face network"}},
		{"no ring folder", func(r *rig) []string {
			return []string{"--config", r.config("ring: {dir: /nonexistent}\n"), "--source", "synthetic:"}
		}, []string{"/nonexistent"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := prepare(t)
			if code := r.up(c.args(r)...).wait(); code == 0 {
				t.Error("status 0")
			}
			oneClearLine(t, r.stderr.String(), c.want...)
			if old, err := os.ReadFile(r.path("old.jsonl")); err == nil && string(old) != "precious\n" {
				t.Errorf("the recording that was there holds %q", old)
			}
		})
	}
}

// A model file with another content than the published one is refused before it is loaded.
func TestWrongModelHash(t *testing.T) {
	r := prepare(t)
	dir := r.path("models")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "yunet_n_320_320.onnx"), []byte("tampered"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FACETRACK_ASSETS", r.dir)
	config := r.write("f.yaml", "landmarks: {model: "+landmarksOf(r)+"}\n")
	if code := r.up("--config", config, "--model", "yunet-320", "--source", "synthetic:").wait(); code == 0 {
		t.Error("status 0")
	}
	oneClearLine(t, r.stderr.String(), "yunet_n_320_320.onnx", "81dbde155e98", "facetrack models fetch")
}

// Where nobody named a model, a public one with another content is passed over, and said to be.
func TestModelThatNobodyNamed(t *testing.T) {
	r := prepare(t)
	if err := os.Mkdir(r.path("models"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.path("models/yunet_n_320_320.onnx"), []byte("tampered"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FACETRACK_ASSETS", r.dir)
	config := r.write("f.yaml", "landmarks: {model: "+landmarksOf(r)+"}\n")
	if code := r.up("--config", config, "--source", "synthetic:faces=1,frames=5", "--pace", "max").wait(); code != 0 {
		t.Errorf("status %d", code)
	}
	for _, want := range []string{"detect: model facetrack-detector: ", "yunet_n_320_320.onnx has SHA-256", "facetrack models fetch"} {
		if !strings.Contains(r.stderr.String(), want) {
			t.Errorf("%q does not say %q", r.stderr.String(), want)
		}
	}
}

func landmarksOf(r *rig) string {
	r.config("")
	return r.path("synthetic.task")
}

// The disk runs full while recording: the run goes on, what was recorded stays, whole lines only, status not 0.
func TestDiskFullWhileRecording(t *testing.T) {
	t.Parallel()
	r := prepare(t)
	const limit = 8 << 20 // just holds the ring
	config := r.config("tracker: {keep_raw: true}\n")
	// The kernel refuses to let any file of the process grow beyond the limit, as a full disk would.
	r.upIn(fmt.Sprintf(`exec prlimit --fsize=%d "$@"`, limit), "--config", config, "--source", "synthetic:faces=1,frames=800",
		"--pace", "max", "--record", r.path("a.jsonl"))
	if code := r.wait(); code == 0 {
		t.Error("status 0")
	}
	if !strings.Contains(r.stderr.String(), "lines are safe") {
		t.Errorf("no word about the lines that are safe:\n%s", r.stderr)
	}
	info, err := os.Stat(r.path("a.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	all := tracks(t, r.path("a.jsonl"))
	s := r.summary()
	if info.Size() > limit || len(all) == 0 || len(all) >= 800 || s.Recording.Lines != uint64(len(all)) {
		t.Errorf("%d bytes, %d whole lines, summary says %d", info.Size(), len(all), s.Recording.Lines)
	}
	if s.Cameras["cam0"].Captured != 800 {
		t.Errorf("the run ended after %d frames", s.Cameras["cam0"].Captured)
	}
}

// A /dev/shm that cannot be written gives one clear line.
func TestReadOnlySharedMemory(t *testing.T) {
	t.Parallel()
	r := prepare(t)
	config := r.config("")
	r.upIn(`exec unshare --user --map-root-user --mount sh -c 'mount -t tmpfs -o ro none /dev/shm && exec "$@"' sh "$@"`,
		"--config", config, "--source", "synthetic:faces=1,frames=30")
	if code := r.wait(); code == 0 {
		t.Error("status 0")
	}
	if text := r.stderr.String(); strings.Contains(text, "unshare") || strings.Contains(text, "mount:") {
		t.Skipf("SKIPPED: this machine allows no private mounts; TestWrongInput/no_ring_folder is the twin: %s", text)
	}
	oneClearLine(t, r.stderr.String(), "/dev/shm", "read-only")
}
