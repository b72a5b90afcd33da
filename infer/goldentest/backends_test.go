package goldentest

import (
	"os"
	"path/filepath"
	"testing"

	"facetrack/infer"
	_ "facetrack/infer/backends"
	"facetrack/infer/onnx"
	"facetrack/infer/task"
	"facetrack/infer/tflite"
	"facetrack/internal/cuda/cudatest"
	"facetrack/internal/testutil"
)

// A variant is a backend with a precision, and how far its results may be from what is right.
type variant struct {
	name    string
	options infer.Options

	published float64 // from published scores between 0 and 1; the reference rounds once per sum, others add in an order of their own
	formula   float64 // from a formula, in parts of 1 + its value
}

func variants(t testing.TB) []variant {
	t.Helper()
	var all []variant
	for _, name := range infer.Backends() {
		v := variant{name: name, options: infer.Options{Backend: name, MaxBatch: 1}, published: 2e-5, formula: 2e-5}
		switch name {
		case "reference":
			v.published = 2e-6
		case "cuda":
			cudatest.Emulate(t, "internal/kernels/nn")
			cudatest.Use(t)
			half := v
			half.name, half.options.Precision = "cuda-fp16", infer.FP16
			half.published, half.formula = 0.005, 4e-3
			all = append(all, half)
			v.options.Precision = infer.FP32
			v.published, v.formula = 1e-4, 1e-4
		}
		all = append(all, v)
	}
	if len(all) == 0 {
		t.Fatal("no backend is registered")
	}
	return all
}

func forEachBackend(t *testing.T, g *infer.Graph, body func(t *testing.T, s infer.Session, v variant)) {
	t.Helper()
	for _, v := range variants(t) {
		t.Run(v.name, func(t *testing.T) { body(t, open(t, g, v.options), v) })
	}
}

func open(t testing.TB, g *infer.Graph, o infer.Options) infer.Session {
	t.Helper()
	s, err := infer.Open(g, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// run computes one batch item.
func run(t testing.TB, s infer.Session, input []float32) map[string][]float32 {
	t.Helper()
	out := make([]infer.Buffer, len(s.Outputs()))
	results := map[string][]float32{}
	for i, info := range s.Outputs() {
		out[i].Host = make([]float32, info.Len())
		results[info.Name] = out[i].Host
	}
	if err := s.Run(1, []infer.Buffer{{Host: input}}, out); err != nil {
		t.Fatal(err)
	}
	return results
}

func read(t testing.TB, path ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{testutil.Assets(t)}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func loadMember(t testing.TB, member string) *infer.Graph {
	t.Helper()
	b, err := task.Open(read(t, "models", "face_landmarker_v2_with_blendshapes.task"))
	if err != nil {
		t.Fatal(err)
	}
	data, ok := b.Member(member)
	if !ok {
		t.Fatalf("the bundle has no member %q, only %q", member, b.Names())
	}
	g, err := tflite.Load(data)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func loadYuNet(t testing.TB, file string) *infer.Graph {
	t.Helper()
	g, err := onnx.Load(read(t, "models", file))
	if err != nil {
		t.Fatal(err)
	}
	return g
}
