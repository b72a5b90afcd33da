package goldentest

import (
	"fmt"
	"image"
	"math"
	"slices"
	"testing"

	"facetrack/infer"
)

func TestYuNetGolden(t *testing.T) {
	clips := []struct {
		file  string
		load  func(*testing.T, []byte) *image.RGBA
		faces int
	}{
		{"astronaut.png", decodeImage, 1},
		{"head-pose-face-detection-female-and-male.gif", gifFrame, 2},
		{"face-demographics-walking-and-pause.gif", gifFrame, 3},
	}
	g := loadYuNet(t, "yunet_n_320_320.onnx")
	forEachBackend(t, g, func(t *testing.T, s infer.Session, _ variant) {
		for _, c := range clips {
			input := swapRedBlue(letterbox(c.load(t, read(t, "media", c.file)), 320))
			found := yunetFaces(run(t, s, input), 320)
			if len(found) != c.faces {
				t.Errorf("%s: %d faces; want %d: %+v", c.file, len(found), c.faces, found)
			} else if c.faces == 1 {
				checkAstronaut(t, found[0])
			}
		}
	})
}

// astronautPoints are the right eye, left eye and nose tip in astronaut.png, in pixels.
var astronautPoints = [3][2]float64{{204, 105}, {247, 105}, {224, 128}}

func checkAstronaut(t *testing.T, f face) {
	t.Helper()
	for k, want := range astronautPoints {
		x, y := f.keyPoints[k][0]*512/320, f.keyPoints[k][1]*512/320
		if !(math.Hypot(x-want[0], y-want[1]) < 5) {
			t.Errorf("key point %d at (%.1f, %.1f); want %v", k, x, y, want)
		}
	}
}

// The larger network has the same outputs for four times as many cells.
func TestYuNetLarge(t *testing.T) {
	g := loadYuNet(t, "yunet_n_640_640.onnx")
	if in := g.InputInfo(); !slices.Equal(in[0].Shape, []int{1, 640, 640, 3}) {
		t.Errorf("inputs %v", in)
	}
	lengths := map[string]int{}
	for _, info := range g.OutputInfo() {
		lengths[info.Name] = info.Len()
	}
	for stride, cells := range map[string]int{"8": 6400, "16": 1600, "32": 400} {
		for kind, numbers := range map[string]int{"cls": 1, "obj": 1, "bbox": 4, "kps": 10} {
			if got := lengths[kind+"_"+stride]; got != cells*numbers {
				t.Errorf("%s_%s holds %d numbers; want %d", kind, stride, got, cells*numbers)
			}
		}
	}
}

type face struct {
	score, x0, y0, x1, y1 float64
	keyPoints             [5][2]float64 // the subject's right eye, left eye, nose tip, mouth corners
}

// yunetFaces decodes boxes with a score of at least 0.7 and keeps the best of those that overlap.
func yunetFaces(out map[string][]float32, size int) []face {
	var all []face
	for _, stride := range []int{8, 16, 32} {
		at := func(kind string) []float32 { return out[fmt.Sprintf("%s_%d", kind, stride)] }
		cls, obj, box, points := at("cls"), at("obj"), at("bbox"), at("kps")
		for i := range cls {
			score := math.Sqrt(float64(cls[i]) * float64(obj[i]))
			if score < 0.7 {
				continue
			}
			s, b := float64(stride), box[4*i:]
			column, row := float64(i%(size/stride)), float64(i/(size/stride))
			cx, cy := (column+float64(b[0]))*s, (row+float64(b[1]))*s
			w, h := math.Exp(float64(b[2]))*s, math.Exp(float64(b[3]))*s
			f := face{score: score, x0: cx - w/2, y0: cy - h/2, x1: cx + w/2, y1: cy + h/2}
			for k := range f.keyPoints {
				p := points[10*i+2*k:]
				f.keyPoints[k] = [2]float64{(column + float64(p[0])) * s, (row + float64(p[1])) * s}
			}
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b face) int { return int(math.Copysign(1, b.score-a.score)) })
	var kept []face
	for _, f := range all {
		if !slices.ContainsFunc(kept, func(k face) bool { return overlap(f, k) > 0.3 }) {
			kept = append(kept, f)
		}
	}
	return kept
}

// overlap is intersection over union.
func overlap(a, b face) float64 {
	w := max(0, min(a.x1, b.x1)-max(a.x0, b.x0))
	h := max(0, min(a.y1, b.y1)-max(a.y0, b.y0))
	area := func(f face) float64 { return (f.x1 - f.x0) * (f.y1 - f.y0) }
	return w * h / (area(a) + area(b) - w*h)
}
