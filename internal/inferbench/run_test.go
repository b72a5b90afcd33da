package inferbench

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"facetrack/infer"
	"facetrack/infer/onnx"
	"facetrack/infer/task"
	"facetrack/infer/tflite"
	"facetrack/internal/cuda/cudatest"
	"facetrack/internal/testmodels"
)

func drawnDetector(t *testing.T) *infer.Graph {
	t.Helper()
	g, err := onnx.Load(testmodels.Detector())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func drawnMember(t *testing.T, name string) *infer.Graph {
	t.Helper()
	bundle, err := task.Open(testmodels.Bundle())
	if err != nil {
		t.Fatal(err)
	}
	data, _ := bundle.Member(name)
	g, err := tflite.Load(data)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// python writes a program that answers as torch_infer.py does.
func python(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

const answer = `{"torch": "2", "cuda": "13.0", "cudnn": 9, "rows": [
	{"network": "detector", "precision": "fp16", "batch": 1, "p50_us": 50, "p99_us": 60, "in_a_row_us": 40, "off": null},
	{"network": "detector", "precision": "tf32", "batch": 1, "error": "none"}]}`

// Everything is measured on the imitated driver, whose times mean nothing.
func TestRun(t *testing.T) {
	cudatest.Emulate(t, "internal/kernels/nn", "internal/kernels/image", "internal/kernels/faces")
	cudatest.Use(t)
	detector := drawnDetector(t)
	result, err := Run(t.Context(), Options{
		GPU: "auto", Batches: []int{1}, Precisions: []string{infer.FP16}, Runs: 2,
		Networks: []Named{{Name: "detector", Graph: detector, High: 255}},
		Chains: []Chain{
			{Name: "detect", Kind: "yunet", Detector: detector},
			{Name: "find", Landmarks: drawnMember(t, "face_landmarks_detector.tflite"), Blendshapes: drawnMember(t, "face_blendshapes.tflite")},
		},
		Python: python(t, `cat <<'END'`+"\n"+answer+"\nEND\n"), Script: "torch_infer.py",
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Rows) != 3 {
		t.Fatalf("rows %+v", result.Rows)
	}
	for i, r := range result.Rows {
		if !(r.P50 > 0 && r.P99 >= r.P50 && r.InARow > 0) || (r.PlainP50 > 0) == r.Chain || r.Chain != (i > 0) {
			t.Errorf("row %+v", r)
		}
	}
	var text bytes.Buffer
	if err := result.Print(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"detector", "find", "PyTorch 2, CUDA 13.0, cuDNN 9", "not a number", "none"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the table does not say %q:\n%s", want, text.String())
		}
	}
	if _, err := json.Marshal(result); err != nil {
		t.Error(err)
	}
}

// What PyTorch says is the reason that it was not run.
func TestWithoutTorch(t *testing.T) {
	for _, c := range []struct{ program, want string }{
		{"echo first >&2; echo No module named torch >&2; exit 1", "No module named torch"},
		{"echo []", "its answer"},
		{`echo '{"rows": []}'`, "measured nothing"},
	} {
		o := Options{Python: python(t, c.program), Script: "torch_infer.py", Batches: []int{1}, Runs: 1}
		result := &Result{}
		if err := o.check(); err == nil {
			t.Error("no precision was accepted")
		}
		o.Precisions = []string{infer.FP16}
		if err := o.check(); err != nil {
			t.Fatal(err)
		}
		if err := o.compare(t.Context(), result); err != nil || len(result.NotRun) != 1 || !strings.Contains(result.NotRun[0], c.want) {
			t.Errorf("%q: not run: %q, %v; want %q", c.program, result.NotRun, err, c.want)
		}
	}
}

func TestExport(t *testing.T) {
	n, folder := Named{Name: "detector", Graph: drawnDetector(t), High: 255}, t.TempDir()
	if err := Export(n, folder); err != nil {
		t.Fatal(err)
	}
	var e exported
	data, err := os.ReadFile(filepath.Join(folder, "detector.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &e); err != nil || e.Name != "detector" || len(e.Nodes) == 0 {
		t.Fatalf("%v: %+v", err, e)
	}
	constants, numbers := 0, 0
	for _, v := range e.Values {
		if v.Offset >= 0 {
			constants = max(constants, v.Offset+v.Length)
		}
	}
	for _, info := range append(n.Graph.InputInfo(), n.Graph.OutputInfo()...) {
		numbers += info.Len()
	}
	for name, want := range map[string]int{"detector.bin": constants, "detector.sample": numbers} {
		info, err := os.Stat(filepath.Join(folder, name))
		if err != nil || info.Size() != int64(4*want) {
			t.Errorf("%s: %v; want %d numbers", name, info, want)
		}
	}
}

func TestFloor(t *testing.T) {
	g := drawnMember(t, "face_blendshapes.tflite") // one convolution of 292 numbers to 52
	k := peak{"", 4e6, 2e6, 1e12}
	f, err := k.floor(infer.FP16, 2, []*infer.Graph{g})
	if err != nil {
		t.Fatal(err)
	}
	if f.MACs != 2*292*52 || f.Because != "operations" || f.Micros != f.MACs/4 {
		t.Errorf("%+v", f)
	}
	if f, err = k.floor(infer.FP32, 1, []*infer.Graph{g}); err != nil || f.Micros != 292*52/2 || f.Bytes < 4*(292*52+52+292+52) {
		t.Errorf("%+v, %v", f, err)
	}
}
