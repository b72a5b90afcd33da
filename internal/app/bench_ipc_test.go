package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"facetrack/gpuring"
	"facetrack/internal/testutil"
)

func parseBenchIPC(t *testing.T, args ...string) *BenchIPCCmd {
	t.Helper()
	var cli CLI
	parser, err := kong.New(&cli, kong.Vars{"stages": "detect"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(append([]string{"bench", "ipc"}, args...)); err != nil {
		t.Fatal(err)
	}
	return &cli.Bench.IPC
}

func TestBenchIPCOptions(t *testing.T) {
	o, err := parseBenchIPC(t).options()
	if err != nil {
		t.Fatal(err)
	}
	if o.Frames != 1500 || o.Rate != 200 || o.Width != 1920 || o.Height != 1080 || len(o.Formats) != 2 || o.Formats[0] != gpuring.NV12 || o.GPU != "auto" || len(o.Readers) != 4 {
		t.Errorf("by default: %+v", o)
	}
	if o.Machine.Cores < 1 || o.Machine.MemoryMiB < 1 || strings.Join(o.Child[1:], " ") != "bench ipc --second" {
		t.Errorf("by default: %+v", o)
	}
	o, err = parseBenchIPC(t, "--frames", "7", "--formats", "bgr", "--size", "640x480", "--readers", "1,3", "--python", "", "--out", "x.json", "--mps", "on").options()
	if err != nil || o.Frames != 7 || o.Formats[0] != gpuring.BGR || o.Width != 640 || o.Height != 480 || o.Readers[1] != 3 || o.Script != "" || o.MPS != "on" {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err := parseBenchIPC(t, "--quick").options(); err != nil || o.Frames != 150 || !o.Quick || len(o.Readers) != 2 || len(o.Computed) != 2 {
		t.Errorf("a rehearsal: %+v, %v", o, err)
	}
	if _, err := parseBenchIPC(t, "--size", "large").options(); err == nil || !strings.Contains(err.Error(), "1920x1080") {
		t.Errorf("--size large: %v", err)
	}
}

// The PyTorch side is found beside the program as well as in the sources, and may be missing.
func TestBenchIPCFindsTheScript(t *testing.T) {
	elsewhere := t.TempDir()
	t.Chdir(elsewhere)
	b := &BenchIPCCmd{}
	if got := b.script(filepath.Join(elsewhere, "facetrack")); got != "" {
		t.Errorf("found %q where there is none", got)
	}
	beside := filepath.Join(elsewhere, "torch_ipc.py")
	if err := os.WriteFile(beside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := b.script(filepath.Join(elsewhere, "facetrack")); got != beside {
		t.Errorf("beside the program: %q", got)
	}
	t.Chdir(testutil.RepoRoot())
	if got := b.script("/nowhere/facetrack"); got != "scripts/bench/torch_ipc.py" {
		t.Errorf("in the sources: %q", got)
	}
	b.Script = "mine.py"
	if got := b.script("/nowhere/facetrack"); got != "mine.py" {
		t.Errorf("as told: %q", got)
	}
}
