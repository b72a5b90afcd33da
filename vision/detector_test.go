package vision

import (
	"errors"
	"math"
	"testing"

	"facetrack/infer"
)

func near2(t *testing.T, what string, gx, gy, wx, wy, tolerance float64) {
	t.Helper()
	if !(math.Hypot(gx-wx, gy-wy) <= tolerance) {
		t.Errorf("%s at (%.3f, %.3f), want (%.3f, %.3f) ± %g", what, gx, gy, wx, wy, tolerance)
	}
}

func TestYuNetDecodesByHand(t *testing.T) {
	s := fakeYuNet(64, func(_ []float32, out map[string][]float32) {
		// Stride 16, cell (col 2, row 1) of 4 columns.
		i := 1*4 + 2
		out["cls_16"][i], out["obj_16"][i] = 0.81, 0.64
		copy(out["bbox_16"][4*i:], []float32{0.25, 0.5, float32(math.Log(1.5)), float32(math.Log(2))})
		copy(out["kps_16"][10*i:], []float32{0, 0.25, 0.5, 0.25, 0.25, 0.5, 0, 0.75, 0.5, 0.75})
	})
	d, err := NewDetector("yunet", s, DetectorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	faces, err := d.Detect(randomImage(BGR, 128, 96, 1)) // scale 2, 8 input rows of bar above
	if err != nil || len(faces) != 1 {
		t.Fatalf("%v, %v; want one face", faces, err)
	}
	f := faces[0]
	if math.Abs(f.Score-0.72) > 1e-6 { // √(0.81·0.64)
		t.Errorf("score %v, want 0.72", f.Score)
	}
	// Input: centre (36, 24), 24 × 32. Frame: (x·2, (y−8)·2).
	want := Box{2 * (36 - 12), 2 * (24 - 16 - 8), 48, 64}
	for i := range want {
		if math.Abs(f.Box[i]-want[i]) > 1e-4 {
			t.Fatalf("box %v, want %v", f.Box, want)
		}
	}
	near2(t, "right eye", f.KeyPoints[0][0], f.KeyPoints[0][1], 64, 24, 1e-4)
	near2(t, "left mouth corner", f.KeyPoints[4][0], f.KeyPoints[4][1], 80, 40, 1e-4)
}

func TestBlazeFaceDecodesByHand(t *testing.T) {
	s := fakeBlazeFace(func(boxes, classes []float32) {
		fill(classes, -200)
		i := 16*16*2 + (3*8+5)*6 + 4 // stride 16, cell (5, 3), fifth anchor: centre (88, 56)
		classes[i] = 2
		copy(boxes[16*i:], []float32{4, -8, 40, 60, -10, -12, 10, -12})
		classes[7] = 150 // clipped; cell (3, 0) of stride 8: centre (28, 4)
		copy(boxes[16*7:], []float32{0, 0, 8, 8})
	})
	d, err := NewDetector("blazeface", s, DetectorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	faces, err := d.Detect(randomImage(BGR, 128, 128, 1))
	if err != nil || len(faces) != 2 {
		t.Fatalf("%v, %v; want two faces", faces, err)
	}
	if faces[0].Score != 1 || faces[0].Box != (Box{24, 0, 8, 8}) {
		t.Errorf("first %+v", faces[0])
	}
	if f := faces[1]; math.Abs(f.Score-1/(1+math.Exp(-2))) > 1e-9 || f.Box != (Box{72, 18, 40, 60}) ||
		f.KeyPoints[0] != [2]float64{78, 44} || f.KeyPoints[1] != [2]float64{98, 44} || len(f.KeyPoints) != 6 {
		t.Errorf("second %+v", f)
	}
}

func fakeBlazeFace(set func(boxes, classes []float32)) *fakeSession {
	return &fakeSession{
		in:      []infer.Info{{Name: "input", Shape: []int{1, 128, 128, 3}}},
		out:     []infer.Info{{Name: "classificators", Shape: []int{1, 896, 1}}, {Name: "regressors", Shape: []int{1, 896, 16}}},
		compute: func(_ []float32, out [][]float32) { set(out[1], out[0]) },
	}
}

func TestDetectionsMapBackFromEveryFormat(t *testing.T) {
	// The fake network answers with a box at the red blob's centroid in its input.
	const size = 128
	s := fakeYuNet(size, func(in []float32, out map[string][]float32) {
		x, y := blob(in, size, 2)
		out["cls_8"][0], out["obj_8"][0] = 1, 1
		copy(out["bbox_8"], []float32{float32(x / 8), float32(y / 8), 0, 0})
	})
	d, err := NewDetector("yunet", s, DetectorOptions{MaxBatch: 2})
	if err != nil {
		t.Fatal(err)
	}
	var frames []Image
	for _, f := range formats {
		frames = append(frames, redBlob(f, 640, 360, 401.3, 152.8, 20))
	}
	all, err := d.DetectBatch(frames)
	if err != nil {
		t.Fatal(err)
	}
	for i, faces := range all {
		x, y := faces[0].Box.Center()
		near2(t, string(formats[i]), x, y, 401.3, 152.8, 0.25) // 5 frame pixels an input pixel
	}
	if len(s.batches) != 2 || s.batches[0] != 2 || s.batches[1] != 1 {
		t.Errorf("batches %v, want [2 1]", s.batches)
	}
}

// redBlob has a Gaussian in red over black.
func redBlob(f Format, w, h int, x0, y0, spread float64) Image {
	return paint(f, w, h, func(x, y float64) [3]float64 {
		return [3]float64{255 * math.Exp(-((x-x0)*(x-x0)+(y-y0)*(y-y0))/2/spread/spread), 0, 0}
	})
}

func TestDetectorRefusesNonFiniteOutputs(t *testing.T) {
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
		for _, name := range []string{"cls_8", "obj_32", "bbox_16", "kps_8"} {
			s := fakeYuNet(64, func(_ []float32, out map[string][]float32) { out[name][3] = bad })
			d, err := NewDetector("yunet", s, DetectorOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if faces, err := d.Detect(randomImage(BGR, 64, 64, 1)); !errors.Is(err, ErrNonFinite) {
				t.Errorf("%v in %s: %v, error %v; want ErrNonFinite", bad, name, faces, err)
			}
		}
	}
}

func TestDetectorRefusesOtherNetworks(t *testing.T) {
	yu := fakeYuNet(64, nil)
	blaze := fakeBlazeFace(nil)
	for name, c := range map[string]struct {
		kind string
		s    infer.Session
	}{
		"blazeface as yunet": {"yunet", blaze},
		"yunet as blazeface": {"blazeface", yu},
		"kind":               {"scrfd", yu},
		"flat input":         {"yunet", &fakeSession{in: []infer.Info{{Shape: []int{1, 64, 32, 3}}}, out: yu.out}},
		"outputs of 128":     {"yunet", &fakeSession{in: yu.in, out: fakeYuNet(128, nil).out}},
		"no input":           {"yunet", &fakeSession{out: yu.out}},
	} {
		if _, err := NewDetector(c.kind, c.s, DetectorOptions{}); !errors.Is(err, ErrModel) {
			t.Errorf("%s: error %v, want ErrModel", name, err)
		}
	}
	broken := fakeYuNet(64, nil)
	broken.err = errors.New("out of order")
	d, err := NewDetector("yunet", broken, DetectorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Detect(randomImage(BGR, 64, 64, 1)); !errors.Is(err, broken.err) {
		t.Errorf("error %v, want the session's", err)
	}
	if _, err := d.Detect(Image{}); !errors.Is(err, ErrImage) {
		t.Errorf("error %v, want ErrImage", err)
	}
}

func face(x, y, w, h, score float64) Face { return Face{Box: Box{x, y, w, h}, Score: score} }

func TestSuppressKeepsTheBestOfEachGroup(t *testing.T) {
	faces := []Face{face(0, 0, 10, 10, 0.7), face(1, 0, 10, 10, 0.9), face(50, 0, 10, 10, 0.8), face(6, 0, 10, 10, 0.6)}
	got := suppress(append([]Face(nil), faces...), 0.3, 9)
	// IoU of x 1 and x 6 is 5/15: above 0.3. x 0 and x 1: 9/11.
	if len(got) != 2 || got[0].Score != 0.9 || got[1].Score != 0.8 {
		t.Errorf("kept %v", got)
	}
	got = suppress(append([]Face(nil), faces...), 0.4, 9)
	if len(got) != 3 || got[2].Score != 0.6 {
		t.Errorf("at 0.4 kept %v", got)
	}
	if got = suppress(faces, 0.3, 1); len(got) != 1 || got[0].Score != 0.9 {
		t.Errorf("limited to one: %v", got)
	}
}

func TestMergeTakesTheWeightedMean(t *testing.T) {
	a, b := face(0, 0, 10, 10, 0.9), face(3, 0, 10, 10, 0.3)
	a.KeyPoints, b.KeyPoints = [][2]float64{{4, 4}}, [][2]float64{{8, 4}}
	got := merge([]Face{b, a, face(90, 90, 0, 0, 0.5)}, 0.3, 9)
	if len(got) != 2 || got[0].Score != 0.9 || math.Abs(got[0].Box[0]-0.75) > 1e-12 || math.Abs(got[0].KeyPoints[0][0]-5) > 1e-12 {
		t.Errorf("merged %+v", got)
	}
	if got = merge([]Face{a, face(50, 0, 9, 9, 0.5)}, 0.3, 1); len(got) != 1 {
		t.Errorf("limited to one: %v", got)
	}
}
