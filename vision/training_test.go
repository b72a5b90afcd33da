//go:build training

package vision

import (
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"facetrack/infer"
	"facetrack/infer/onnx"
	_ "facetrack/infer/reference"
)

// The detector of training/ has YuNet's outputs: what is decoded here is what its training decodes.
func TestTrainingDetector(t *testing.T) {
	python := os.Getenv("PYTHON")
	if python == "" {
		python = "python3"
	}
	if out, err := exec.Command(python, "-c", "import torch").CombinedOutput(); err != nil {
		t.Skipf("%s has no PyTorch (Debian: python3-torch; PYTHON names another): %s", python, out)
	}
	folder := t.TempDir()
	file := filepath.Join(folder, "detector.onnx")
	cmd := exec.Command(python, "../training/export.py", "detector", "--random", "2", "--out", file, "--sample", folder)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	g, err := onnx.Load(data)
	if err != nil {
		t.Fatal(err)
	}
	s, err := infer.Open(g, infer.Options{Backend: "reference", MaxBatch: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	d, err := NewDetector("yunet", s, DetectorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := make([]infer.Buffer, len(d.out))
	for i := range out {
		out[i].Host = d.out[i]
	}
	if err := s.Run(1, []infer.Buffer{{Host: trainingFloats(t, folder, "input")}}, out); err != nil {
		t.Fatal(err)
	}
	faces, want := d.decoder.decode(d.out, 0), trainingFloats(t, folder, "faces")
	if len(faces)*14 != len(want) {
		t.Fatalf("%d faces; want %d", len(faces), len(want)/14)
	}
	for i, f := range faces {
		got := []float64{f.Box[0], f.Box[1], f.Box[0] + f.Box[2], f.Box[1] + f.Box[3]}
		for _, p := range f.KeyPoints {
			got = append(got, p[0], p[1])
		}
		for k, v := range got {
			if math.Abs(v-float64(want[14*i+k])) > 1e-3 {
				t.Fatalf("face %d: %v; want %v", i, got, want[14*i:14*i+14])
			}
		}
	}
}

func trainingFloats(t *testing.T, folder, name string) []float32 {
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
