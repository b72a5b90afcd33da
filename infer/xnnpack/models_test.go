//go:build xnnpack

package xnnpack

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"facetrack/infer"
	"facetrack/infer/onnx"
	_ "facetrack/infer/reference"
	"facetrack/infer/task"
	"facetrack/infer/tflite"
	"facetrack/internal/testutil"
)

// network is one of the models that the tracker runs.
type network struct {
	name   string
	file   string
	member string // of a .task bundle
	low    float32
	high   float32 // range of the input
}

var networks = []network{
	{"blazeface", "face_landmarker_v2_with_blendshapes.task", "face_detector.tflite", -1, 1},
	{"landmarks", "face_landmarker_v2_with_blendshapes.task", "face_landmarks_detector.tflite", 0, 1},
	{"blendshapes", "face_landmarker_v2_with_blendshapes.task", "face_blendshapes.tflite", 0, 512},
	{"yunet320", "yunet_n_320_320.onnx", "", 0, 255},
	{"yunet640", "yunet_n_640_640.onnx", "", 0, 255},
}

func (n network) load(t testing.TB) *infer.Graph {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testutil.Assets(t), "models", n.file))
	if err != nil {
		t.Fatal(err)
	}
	load := onnx.Load
	if n.member != "" {
		bundle, err := task.Open(data)
		if err != nil {
			t.Fatal(err)
		}
		data, _ = bundle.Member(n.member)
		load = tflite.Load
	}
	g, err := load(data)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// input makes noise in the range of the network's input.
func (n network) input(g *infer.Graph) []infer.Buffer {
	rnd := rand.New(rand.NewPCG(7, 8))
	var in []infer.Buffer
	for _, info := range g.InputInfo() {
		x := noise(rnd, info.Len(), 0.5)
		for i := range x {
			x[i] = n.low + (x[i]+0.5)*(n.high-n.low)
		}
		in = append(in, infer.Buffer{Host: x})
	}
	return in
}

// TestNetworksAgainstReference runs the real models, with one thread and with two, beside the plain Go backend.
func TestNetworksAgainstReference(t *testing.T) {
	for _, n := range networks {
		if n.name == "yunet640" && testing.Short() {
			continue
		}
		t.Run(n.name, func(t *testing.T) {
			g := n.load(t)
			in := n.input(g)
			want := runOn(t, g, infer.Options{Backend: "reference"}, in)
			for _, o := range []infer.Options{{Backend: Name}, {Backend: Name, Threads: 2}, {Backend: Name, NoOptimize: true}} {
				got := runOn(t, g, o, in)
				for i := range want {
					compare(t, g.OutputInfo()[i].Name, got[i].Host, want[i].Host, 1e-4)
				}
			}
		})
	}
}

func runOn(t *testing.T, g *infer.Graph, o infer.Options, in []infer.Buffer) []infer.Buffer {
	t.Helper()
	s, err := infer.Open(g, o)
	if err != nil {
		t.Fatalf("open %+v: %v", o, err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	out := buffersFor(s.Outputs(), 1)
	if err := s.Run(1, in, out); err != nil {
		t.Fatalf("run %+v: %v", o, err)
	}
	return out
}
