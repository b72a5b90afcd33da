package gpu

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"facetrack/infer"
	"facetrack/infer/onnx"
	"facetrack/infer/task"
	"facetrack/infer/tflite"
	"facetrack/internal/kernels/nn"
	"facetrack/internal/testmodels"
	"facetrack/internal/testutil"
)

// hopper is how many bytes of shared memory a thread block can have there.
const hopper = 227 << 10

const (
	faceTask   = "face_landmarker_v2_with_blendshapes.task"
	landmarks  = "face_landmarks_detector.tflite"
	blazeface  = "face_detector.tflite"
	blendshape = "face_blendshapes.tflite"
)

// network is a model, how many steps of each kind it becomes, and the range of its input.
type network struct {
	name, file, member string
	steps              map[string]int
	chained            map[string]int // what chains make of steps, in float16; nil: nothing
	low, high          float32
	most               float64 // that the first output may be off; 0: no matter
}

var public = []network{
	{"landmarks", faceTask, landmarks, map[string]int{"conv": 22}, map[string]int{"conv": 9, "chain": 1}, 0, 1, 0.5},
	{"blazeface", faceTask, blazeface, map[string]int{"conv": 21}, map[string]int{"conv": 14, "chain": 1}, -1, 1, 0},
	{"blendshapes", faceTask, blendshape, map[string]int{"mixer": 1}, nil, 0, 512, 0.02},
	{"yunet", "yunet_n_320_320.onnx", "", map[string]int{"conv": 21, "depthwise": 9, "pool": 4, "binary": 2, "move": 12},
		map[string]int{"conv": 16, "chain": 2, "depthwise": 9, "pool": 4, "binary": 2, "move": 12}, 0, 255, 0},
}

var synthetic = []network{
	{"landmarks", "", landmarks, map[string]int{"conv": 4}, nil, 0, 1, 0.5},
	{"blendshapes", "", blendshape, map[string]int{"conv": 1}, nil, 0, 512, 0.02},
	{"detector", "", "", map[string]int{"conv": 7, "depthwise": 6, "pool": 2}, nil, 0, 255, 0},
}

func (n *network) load(t testing.TB) *infer.Graph {
	t.Helper()
	data := testmodels.Detector()
	switch {
	case n.file != "":
		var err error
		if data, err = os.ReadFile(filepath.Join(testutil.Assets(t), "models", n.file)); err != nil {
			t.Fatal(err)
		}
	case n.member != "":
		data = testmodels.Bundle()
	}
	load := onnx.Load
	if n.member != "" {
		archive, err := task.Open(data)
		if err != nil {
			t.Fatal(err)
		}
		data, _ = archive.Member(n.member)
		load = tflite.Load
	}
	g, err := load(data)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (n *network) checkSteps(t *testing.T) {
	t.Helper()
	g := n.load(t)
	if err := infer.Optimize(g); err != nil {
		t.Fatal(err)
	}
	for _, precision := range []string{infer.FP32, infer.FP16} {
		p, err := parsePrecision(precision)
		if err != nil {
			t.Fatal(err)
		}
		made, err := newPlan(g, p, hopper)
		if err != nil {
			t.Fatal(err)
		}
		steps := n.steps
		if p == nn.F16 && n.chained != nil {
			steps = n.chained
		}
		got, all := map[string]int{}, 0
		for _, s := range made.steps {
			got[s.kind]++
		}
		all += got["convert"] // of lists of numbers, for a convolution in float16
		for kind, want := range steps {
			all += want
			if got[kind] != want {
				t.Errorf("%s: %d × %s, want %d", precision, got[kind], kind, want)
			}
		}
		if len(made.steps) != all {
			t.Errorf("%s: steps %q, want %v", precision, kinds(made), steps)
		}
	}
}

// compute compares both precisions with plain Go.
func (n *network) compute(t *testing.T) {
	b := newBench(t)
	g := n.load(t)
	in := numbers(g.InputInfo(), 1, 7, n.low, n.high)
	want := expected(t, g, 1, in)
	for precision, tolerance := range map[string]float64{infer.FP32: exact, infer.FP16: 2 * rough} { // twenty layers deep
		net := b.network(g, Options{Precision: precision})
		out := blank(net.Outputs(), 1)
		b.must(b.exec(net, 1).Run(1, in, out))
		compare(t, out, want, tolerance)
		for k, w := range want[0].Host {
			if d := math.Abs(float64(out[0].Host[k] - w)); n.most > 0 && !(d <= n.most) {
				t.Fatalf("%s: number %d is off by %g, at most %g are allowed", precision, k, d, n.most)
			}
		}
	}
}

func TestNetworks(t *testing.T) {
	for _, n := range synthetic {
		t.Run("synthetic "+n.name, n.test)
	}
	for _, n := range public {
		t.Run(n.name, n.test)
	}
}

func (n *network) test(t *testing.T) {
	t.Run("steps", n.checkSteps)
	t.Run("compute", n.compute)
}
