package vision

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"facetrack/infer"
	"facetrack/internal/models"
	"facetrack/internal/testutil"
)

// numbers returns the values of a field in a text protocol buffer, in order.
func numbers(t *testing.T, file, field string) []float64 {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testutil.Assets(t), "golden", file))
	if err != nil {
		t.Fatal(err)
	}
	var out []float64
	for _, m := range regexp.MustCompile(`(?m)^\s*`+field+`: (\S+)$`).FindAllSubmatch(data, -1) {
		v, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

func TestBlendshapesGolden(t *testing.T) {
	xs, ys := numbers(t, "face_blendshapes_in_landmarks.prototxt", "x"), numbers(t, "face_blendshapes_in_landmarks.prototxt", "y")
	want := numbers(t, "face_blendshapes_out.prototxt", "score")
	if len(want) != len(BlendshapeNames) || len(xs) != len(ys) {
		t.Fatalf("golden files hold %d points and %d scores", len(xs), len(want))
	}
	var f FaceResult
	switch len(xs) {
	case 478:
		for i := range xs {
			f.Points = append(f.Points, [3]float64{xs[i] * 820, ys[i] * 1024, 0})
		}
	case len(BlendshapeIndices):
		f.Points = make([][3]float64, 478)
		for k, i := range BlendshapeIndices {
			f.Points[i] = [3]float64{xs[k] * 820, ys[k] * 1024, 0}
		}
	default:
		t.Fatalf("golden file holds %d points", len(xs))
	}
	for _, backend := range infer.Backends() {
		tolerance := 2e-5
		if backend == "reference" {
			tolerance = 2e-6
		}
		l, err := store(t).Landmarks(modelPath(t, bundle), models.Options{Infer: infer.Options{Backend: backend, Precision: infer.FP32}})
		if errors.Is(err, infer.ErrUnavailable) {
			t.Logf("%s: NOT RUN: %v", backend, err) // package goldentest runs it, on an emulation where there is no GPU
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := newBlendshaper(l.Blendshapes, 478, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.run([]*FaceResult{&f}); err != nil {
			t.Fatal(err)
		}
		worst := 0.0
		for i, w := range want {
			if d := math.Abs(f.Blendshapes[i] - w); !(d <= tolerance) {
				t.Errorf("%s: %s is %.7f, want %.7f", backend, BlendshapeNames[i], f.Blendshapes[i], w)
			} else {
				worst = max(worst, d)
			}
		}
		t.Logf("%s: largest difference %.1e", backend, worst)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestBlendshapeTables(t *testing.T) {
	seen := map[string]bool{}
	for _, n := range BlendshapeNames {
		if n == "" || seen[n] {
			t.Errorf("name %q is empty or doubled", n)
		}
		seen[n] = true
	}
	for i := 1; i < len(BlendshapeIndices); i++ {
		if BlendshapeIndices[i] <= BlendshapeIndices[i-1] || BlendshapeIndices[i] > 477 {
			t.Errorf("index %d after %d", BlendshapeIndices[i], BlendshapeIndices[i-1])
		}
	}
	if BlendshapeNames[0] != "_neutral" || !seen["jawOpen"] || !seen["eyeBlinkLeft"] {
		t.Error("names are not the 52 ARKit ones")
	}
}
