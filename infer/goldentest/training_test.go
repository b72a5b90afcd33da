//go:build training

package goldentest

import (
	"math"
	"testing"

	"facetrack/infer"
	"facetrack/infer/onnx"
	"facetrack/internal/testutil"
)

// Untrained networks of training/ give on every backend what PyTorch makes of the same weights and input.
func TestTrainingExport(t *testing.T) {
	for _, kind := range []string{"detector", "face"} {
		t.Run(kind, func(t *testing.T) {
			data, folder := testutil.TrainingExport(t, kind, 1)
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
				for name, got := range run(t, s, testutil.Floats(t, folder, "input")) {
					compareTo(t, name, got, testutil.Floats(t, folder, name), limit)
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
