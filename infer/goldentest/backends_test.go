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
	"facetrack/internal/testutil"
)

// tolerance of a backend's float32 results against published ones: the reference rounds once per sum; others add in
// float32 in an order of their own.
func tolerance(backend string) float64 {
	if backend == "reference" {
		return 2e-6
	}
	return 2e-5
}

func forEachBackend(t *testing.T, g *infer.Graph, body func(t *testing.T, s infer.Session)) {
	t.Helper()
	if len(infer.Backends()) == 0 {
		t.Fatal("no backend is registered")
	}
	for _, name := range infer.Backends() {
		t.Run(name, func(t *testing.T) { body(t, open(t, g, name, 1)) })
	}
}

func open(t testing.TB, g *infer.Graph, backend string, batch int) infer.Session {
	t.Helper()
	s, err := infer.Open(g, infer.Options{Backend: backend, MaxBatch: batch})
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
