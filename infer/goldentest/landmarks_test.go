package goldentest

import (
	"image"
	"math"
	"testing"

	"facetrack/infer"
)

// The landmark network, on a crop, puts the astronaut's irises and nose tip where the detector does.
func TestLandmarksGolden(t *testing.T) {
	const left, top, side = 137, 30, 176 // one and a half times the detector's box
	input := cropSquare(decodeImage(t, read(t, "media", "astronaut.png")), left, top, side, 192)
	forEachBackend(t, loadMember(t, "face_landmarks_detector.tflite"), func(t *testing.T, s infer.Session, _ variant) {
		points, presence := landmarkOutputs(t, run(t, s, input))
		if presence < 0.9 {
			t.Errorf("presence %.3f; want at least 0.9", presence)
		}
		for k, index := range []int{468, 473, 4} { // iris of the right eye, of the left eye, nose tip
			x, y := left+points[3*index]/192*side, top+points[3*index+1]/192*side
			if want := astronautPoints[k]; !(math.Hypot(x-want[0], y-want[1]) < 8) {
				t.Errorf("landmark %d at (%.1f, %.1f); want about %v", index, x, y, want)
			}
		}
	})
}

func landmarkOutputs(t *testing.T, out map[string][]float32) (points []float64, presence float64) {
	t.Helper()
	for _, data := range out {
		if len(data) == 1 {
			presence = 1 / (1 + math.Exp(-float64(data[0])))
			continue
		}
		for _, v := range data {
			points = append(points, float64(v))
		}
	}
	if len(points) != 3*478 {
		t.Fatalf("%d numbers; want 478 points", len(points))
	}
	return points, presence
}

// cropSquare scales a square of an image to size×size RGB in 0..1.
func cropSquare(img *image.RGBA, left, top, side float64, size int) []float32 {
	out := make([]float32, 0, size*size*3)
	for y := range size {
		for x := range size {
			at := func(i int) float64 { return (float64(i)+0.5)/float64(size)*side - 0.5 }
			rgb := bilinear(img, left+at(x), top+at(y))
			out = append(out, rgb[0]/255, rgb[1]/255, rgb[2]/255)
		}
	}
	return out
}
