//go:build training

package vision

import (
	"math"
	"testing"

	"facetrack/infer"
	"facetrack/infer/onnx"
	_ "facetrack/infer/reference"
	"facetrack/internal/testutil"
)

// The detector of training/ has YuNet's outputs: what is decoded here is what its training decodes.
func TestTrainingDetector(t *testing.T) {
	data, folder := testutil.TrainingExport(t, "detector", 2)
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
	if err := s.Run(1, []infer.Buffer{{Host: testutil.Floats(t, folder, "input")}}, out); err != nil {
		t.Fatal(err)
	}
	faces, want := d.decoder.decode(d.out, 0), testutil.Floats(t, folder, "faces")
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
