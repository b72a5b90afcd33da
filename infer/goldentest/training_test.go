//go:build training

package goldentest

import (
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"facetrack/infer"
	"facetrack/infer/onnx"
)

// Untrained networks of training/ give on every backend what PyTorch makes of the same weights and input.
func TestTrainingExport(t *testing.T) {
	python := os.Getenv("PYTHON")
	if python == "" {
		python = "python3"
	}
	if out, err := exec.Command(python, "-c", "import torch").CombinedOutput(); err != nil {
		t.Skipf("%s has no PyTorch (Debian: python3-torch; PYTHON names another): %s", python, out)
	}
	for _, kind := range []string{"detector", "face"} {
		t.Run(kind, func(t *testing.T) {
			folder := t.TempDir()
			file := filepath.Join(folder, kind+".onnx")
			cmd := exec.Command(python, "../../training/export.py", kind, "--random", "1", "--out", file, "--sample", folder)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: %d bytes", kind, len(data))
			g, err := onnx.Load(data)
			if err != nil {
				t.Fatal(err)
			}
			forEachBackend(t, g, func(t *testing.T, s infer.Session, v variant) {
				limit := 1e-4
				if v.options.Precision == infer.FP16 {
					limit = 0.02
				}
				for name, got := range run(t, s, floatsOf(t, folder, "input")) {
					compareTo(t, name, got, floatsOf(t, folder, name), limit)
				}
			})
		})
	}
}

// compareTo measures against the largest value, or 1 where all are smaller: points are pixels.
func compareTo(t *testing.T, name string, got, want []float32, limit float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values; want %d", name, len(got), len(want))
	}
	worst, scale := 0.0, 1.0
	for i := range want {
		worst = max(worst, math.Abs(float64(got[i]-want[i])))
		scale = max(scale, math.Abs(float64(want[i])))
	}
	t.Logf("%s: off by %.2g, values up to %.3g", name, worst, scale)
	if !(worst <= limit*scale) {
		t.Errorf("%s: off by %g of values up to %g", name, worst, scale)
	}
}

func floatsOf(t *testing.T, folder, name string) []float32 {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, name+".f32"))
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float32, len(data)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return out
}
