package goldentest

import (
	"image"
	"math"
	"testing"

	"facetrack/infer"
)

// Two networks that know nothing of each other agree on the astronaut: the landmark network, on a crop, puts the
// irises and the nose tip where the detector does.
func TestLandmarksAgreeWithDetector(t *testing.T) {
	img := decodeImage(t, read(t, "media", "astronaut.png"))
	detector := open(t, loadYuNet(t, "yunet_n_320_320.onnx"), "reference", 1)
	found := yunetFaces(run(t, detector, swapRedBlue(letterbox(img, 320))), 320)
	if len(found) != 1 {
		t.Fatalf("faces %v; want 1", found)
	}
	f := found[0]
	const scale = 512.0 / 320
	side := 1.5 * math.Max(f.x1-f.x0, f.y1-f.y0) * scale
	left, top := (f.x0+f.x1)/2*scale-side/2, (f.y0+f.y1)/2*scale-side/2
	input := cropSquare(img, left, top, side, 192)
	forEachBackend(t, loadMember(t, "face_landmarks_detector.tflite"), func(t *testing.T, s infer.Session) {
		points, presence := landmarkOutputs(t, run(t, s, input))
		if presence < 0.9 {
			t.Errorf("presence %.3f; want at least 0.9", presence)
		}
		for k, index := range []int{468, 473, 4} { // iris of the right eye, of the left eye, nose tip
			x, y := left+points[3*index]/192*side, top+points[3*index+1]/192*side
			wantX, wantY := f.keyPoints[k][0]*scale, f.keyPoints[k][1]*scale
			if d := math.Hypot(x-wantX, y-wantY); !(d < 0.05*side) {
				t.Errorf("landmark %d at (%.1f, %.1f), the detector says (%.1f, %.1f)", index, x, y, wantX, wantY)
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
