package ipcbench

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"facetrack/gpuring"
	"facetrack/internal/testutil"
)

// withTorch starts the script with an imitation of PyTorch that keeps tensors in host memory.
func withTorch(t *testing.T, mode string) *python {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not here: the PyTorch side is not tested")
	}
	imitation, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PYTHONPATH", imitation)
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	t.Setenv("IMITATED_TORCH", mode)
	p, err := startPython(Options{Python: "python3", Script: filepath.Join(testutil.RepoRoot(), "scripts/bench/torch_ipc.py")}, "GPU-0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Close()
		<-p.ended
	})
	return p
}

var tiny = gpuring.Geometry{Width: 32, Height: 16, Format: gpuring.NV12, Slots: slots}

func TestPython(t *testing.T) {
	p := withTorch(t, "")
	if err := p.ready(context.Background()); err != nil || p.Torch != "0 (imitated)" {
		t.Fatalf("%q: %v", p.Torch, err)
	}
	for _, to := range transports {
		if to.Kind != kindPython {
			continue
		}
		r := &pythonRunner{p, to.Name, tiny}
		out, err := r.run(context.Background(), spec{frames: 20, warmUp: 2, limit: time.Minute, interval: time.Millisecond, window: 1, timed: true})
		if err != nil || len(out.Minimal) != 10 || len(out.Whole) != 10 || out.Frames != 22 || out.Counted != 20 || out.Mismatches > 0 {
			t.Errorf("%s, paced: %+v, %v", to.Name, out, err)
		}
		if up := out.Up + out.UpHere; up != 22*int64(tiny.FrameBytes()) {
			t.Errorf("%s: %d bytes up for 22 frames of %d", to.Name, up, tiny.FrameBytes())
		}
		for _, ns := range append(out.Minimal, out.Whole...) {
			if ns <= 0 || ns > int64(time.Minute) {
				t.Errorf("%s: a frame took %d ns", to.Name, ns)
			}
		}
		out, err = r.run(context.Background(), spec{warmUp: 2, limit: 30 * time.Millisecond, window: window})
		if err != nil || out.Counted < 1 || out.rate() <= 0 || out.Mismatches > 0 || len(out.Whole) > 0 {
			t.Errorf("%s, saturated: %+v, %v", to.Name, out, err)
		}
	}
}

func TestPythonNoticesWrongFrames(t *testing.T) {
	p := withTorch(t, "torn")
	if err := p.ready(context.Background()); err != nil {
		t.Fatal(err)
	}
	out, err := (&pythonRunner{p, TorchPipe, tiny}).run(context.Background(), spec{frames: 4, limit: time.Minute, window: 1, timed: true})
	if err != nil || out.Mismatches != 4 || len(out.Whole) > 0 {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestPythonThatCannot(t *testing.T) {
	if err := withTorch(t, "no GPU").ready(context.Background()); err == nil || !strings.Contains(err.Error(), "finds no CUDA device") {
		t.Errorf("without a GPU: %v", err)
	}
	if _, err := startPython(Options{Python: "python3", Script: "nowhere.py"}, ""); err == nil || !strings.Contains(err.Error(), "--script") {
		t.Errorf("without the script: %v", err)
	}
	if _, err := startPython(Options{Python: "no-such-python", Script: "doc.go"}, ""); err == nil {
		t.Error("without Python")
	}
}
