package gpuvision

import (
	"math"
	"testing"

	"facetrack/infer"
	"facetrack/vision"
)

// scenes are frames of any format and size, among them one without a face.
func (r *rig) scenes() (scenes []vision.Image) {
	r.Helper()
	for _, s := range []struct {
		format      vision.Format
		w, h, faces int
	}{{vision.BGR, 640, 480, 2}, {vision.NV12, 320, 240, 1}, {vision.YUYV, 480, 360, 1}} {
		m, _ := r.drawn(s.format, s.w, s.h, s.faces)
		scenes = append(scenes, m)
	}
	return append(scenes, vision.Image{Format: vision.BGR, Width: 100, Height: 75, Pix: make([]byte, 3*100*75)})
}

// compareFaces allows for a bound in pixels, or for what boxes have to have in common.
func (r *rig) compareFaces(got, want []vision.Face, pixels, iou float64) {
	r.Helper()
	if len(got) != len(want) {
		r.Fatalf("%d faces, want %d", len(got), len(want))
	}
	for k, w := range want {
		g := got[k]
		if v := g.Box.IoU(w.Box); v < iou || math.Abs(g.Score-w.Score) > 0.01 || len(g.KeyPoints) != len(w.KeyPoints) {
			r.Errorf("face %d: %+v, want %+v", k, g, w)
		}
		for i, p := range w.KeyPoints {
			if d := math.Hypot(g.KeyPoints[i][0]-p[0], g.KeyPoints[i][1]-p[1]); !(d <= pixels) {
				r.Errorf("face %d, point %d: off by %g px", k, i, d)
			}
		}
		for i, v := range w.Box {
			if d := math.Abs(g.Box[i] - v); !(d <= pixels) {
				r.Errorf("face %d: box off by %g px", k, d)
			}
		}
	}
}

// Frames of the host and of the device, together, in batches that do not go up.
func TestDetectIsVisions(t *testing.T) {
	r := newRig(t)
	want, err := r.visionDetector(vision.DetectorOptions{}).DetectBatch(r.scenes())
	r.must(err)
	for precision, bound := range map[string]struct{ pixels, iou float64 }{infer.FP32: {1e-3, 0.9999}, infer.FP16: {1, 0.98}} {
		x := r.newDetector(vision.DetectorOptions{}, Options{Precision: precision, MaxBatch: 3})
		waits := 0
		var frames []Frame
		for i, m := range r.scenes() {
			if i%2 == 0 {
				frames = append(frames, r.onDevice(m, &waits))
			} else {
				frames = append(frames, Frame{Image: m})
			}
		}
		for round := range 2 {
			sights, err := x.Detect(frames)
			r.must(err)
			for i, s := range sights {
				r.must(s.Err)
				r.compareFaces(s.Faces, want[i], bound.pixels, bound.iou)
			}
			if waits != 2*(round+1) {
				t.Errorf("%d waits for 2 frames in %d rounds", waits, round+1)
			}
			r.must(x.Capture(3), x.Capture(1))
		}
		if x.MaxBatch() != 3 {
			t.Errorf("a batch of %d", x.MaxBatch())
		}
		r.taken = 0
	}
}
