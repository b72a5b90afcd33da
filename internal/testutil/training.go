package testutil

import (
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// TrainingExport has training/export.py make an untrained network, and a sample of what PyTorch makes of it. It returns the network's file and
// the folder with the sample. Without PyTorch it skips the test and says so.
func TrainingExport(t *testing.T, network string, seed int) (data []byte, folder string) {
	t.Helper()
	python := os.Getenv("PYTHON")
	if python == "" {
		python = "python3"
	}
	if out, err := exec.CommandContext(t.Context(), python, "-c", "import torch").CombinedOutput(); err != nil { //nolint:gosec // the developer's
		t.Skipf("%s has no PyTorch (Debian: python3-torch; PYTHON names another): %s", python, out)
	}
	folder = t.TempDir()
	file := filepath.Join(folder, network+".onnx")
	script := filepath.Join(RepoRoot(), "training", "export.py")
	cmd := exec.CommandContext(t.Context(), python, script, network, "--random", strconv.Itoa(seed), "--out", file, "--sample", folder) //nolint:gosec // the developer's
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	data, err := os.ReadFile(file) //nolint:gosec // of this test
	if err != nil {
		t.Fatal(err)
	}
	return data, folder
}

// Floats reads an array of a sample.
func Floats(t *testing.T, folder, name string) []float32 {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, name+".f32")) //nolint:gosec // of this test
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float32, len(data)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return out
}
