package goldentest

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"facetrack/infer"
	"facetrack/vision"
)

func TestBlendshapesGolden(t *testing.T) {
	g := loadMember(t, "face_blendshapes.tflite")
	xs := protoField(t, read(t, "golden", "face_blendshapes_in_landmarks.prototxt"), "x")
	ys := protoField(t, read(t, "golden", "face_blendshapes_in_landmarks.prototxt"), "y")
	want := protoField(t, read(t, "golden", "face_blendshapes_out.prototxt"), "score")
	if len(xs) != 478 || len(ys) != 478 || len(want) != 52 {
		t.Fatalf("golden files hold %d, %d and %d numbers; want 478, 478 and 52", len(xs), len(ys), len(want))
	}
	const width, height = 820, 1024
	var input []float32
	for _, i := range vision.BlendshapeIndices {
		input = append(input, float32(xs[i])*width, float32(ys[i])*height)
	}
	forEachBackend(t, g, func(t *testing.T, s infer.Session, v variant) {
		worst := 0.0
		for _, scores := range run(t, s, input) {
			for i, got := range scores {
				worst = math.Max(worst, math.Abs(float64(got)-want[i]))
			}
		}
		t.Logf("largest difference %.2g", worst)
		if !(worst <= v.published) {
			t.Errorf("largest difference %g is above %g", worst, v.published)
		}
	})
}

// protoField lists the numbers of one field of a text protocol buffer, in order.
func protoField(t *testing.T, text []byte, field string) []float64 {
	t.Helper()
	var out []float64
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		value, ok := strings.CutPrefix(strings.TrimSpace(lines.Text()), fmt.Sprintf("%s: ", field))
		if !ok {
			continue
		}
		x, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, x)
	}
	return out
}
