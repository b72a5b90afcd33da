package vision

import (
	"math"
	"slices"
	"sort"
	"testing"
)

// person is a face of skin, hair and collar over a wall, 100 px, at (x, y).
func person(x0, y0 float64, skin, hair, collar [3]float64) func(x, y float64) [3]float64 {
	return func(x, y float64) [3]float64 {
		u, v := (x-x0)/100, (y-y0)/100
		switch {
		case u*u/0.14+v*v/0.25 < 1 && v > -0.3:
			return skin
		case u*u/0.25+v*v/0.4 < 1 && v < 0.2:
			return hair
		case v > 0.5 && math.Abs(u) < 0.6:
			return collar
		}
		return [3]float64{150, 150, 155}
	}
}

func looks(t *testing.T, m Image, r ROI) []float64 {
	t.Helper()
	a, err := newAppearance()
	if err != nil {
		t.Fatal(err)
	}
	d, err := a.describe(m, r)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestAppearanceTellsPaintedPeopleApart(t *testing.T) {
	skin, pale := [3]float64{190, 140, 115}, [3]float64{220, 185, 170}
	dark, fair := [3]float64{40, 30, 25}, [3]float64{190, 160, 90}
	red, blue := [3]float64{170, 50, 50}, [3]float64{50, 60, 140}
	a := person(200, 150, skin, dark, red)
	r := ROI{CX: 200, CY: 150, Size: 150}
	first := looks(t, paint(BGR, 400, 300, a), r)
	if len(first) != AppearanceSize || AppearanceSize > 64 {
		t.Fatalf("%d values", len(first))
	}
	if n := Similarity(first, first); math.Abs(n-1) > 1e-9 {
		t.Errorf("length %v, want 1", n)
	}
	dim := paint(BGR, 400, 300, func(x, y float64) [3]float64 {
		p := a(x, y)
		return [3]float64{0.6 * p[0], 0.6 * p[1], 0.6 * p[2]}
	})
	same := map[string][]float64{
		"at 60 % gain": looks(t, dim, r),
		"shifted":      looks(t, paint(BGR, 400, 300, a), ROI{CX: 204, CY: 147, Size: 156, Rotation: 0.06}),
		"NV12":         looks(t, paint(NV12, 400, 300, a), r),
		"YUYV":         looks(t, paint(YUYV, 400, 300, a), r),
	}
	others := map[string][]float64{
		"another collar": looks(t, paint(BGR, 400, 300, person(200, 150, skin, dark, blue)), r),
		"all different":  looks(t, paint(BGR, 400, 300, person(200, 150, pale, fair, blue)), r),
	}
	worst := 1.0
	for name, d := range same {
		s := Similarity(first, d)
		worst = min(worst, s)
		if s < 0.97 {
			t.Errorf("same person %s: similarity %.3f", name, s)
		}
	}
	if s := Similarity(first, same["at 60 % gain"]); s < 0.9995 { // rounding to 8 bits is all that differs
		t.Errorf("the gain changes the looks: similarity %.5f", s)
	}
	for name, d := range others {
		if s := Similarity(first, d); s > worst-0.1 {
			t.Errorf("%s: similarity %.3f, the same person has %.3f", name, s, worst)
		}
	}
}

func TestAppearanceOfBlackIsLikeNobody(t *testing.T) {
	black := looks(t, paint(BGR, 64, 64, func(_, _ float64) [3]float64 { return [3]float64{} }), ROI{CX: 32, CY: 32, Size: 40})
	if s := Similarity(black, black); s != 0 {
		t.Errorf("similarity %v", s)
	}
	if s := Similarity(nil, black); s != 0 {
		t.Errorf("similarity with nothing %v", s)
	}
}

func TestAppearanceTellsPeopleOfTheClipsApart(t *testing.T) {
	det := newTestDetector(t, "yunet_n_320_320.onnx", DetectorOptions{})
	lm := newTestLandmarker(t)
	for _, c := range []struct {
		clip         string
		step, people int
	}{{"head-pose-face-detection-female-and-male.gif", every(9), 2}, {"face-demographics-walking-and-pause.gif", every(10), 3}} {
		var seen [][][]float64 // frame, person from left to right
		for _, m := range readClip(t, c.clip, c.step) {
			if people := lookAtAll(t, det, lm, m); len(people) == c.people {
				seen = append(seen, people)
			}
		}
		if len(seen) < 2 {
			t.Fatalf("%s: all people seen in %d frames only", c.clip, len(seen))
		}
		for k, people := range seen[1:] {
			for i, d := range people {
				own := Similarity(d, seen[0][i])
				for j, first := range seen[0] {
					if s := Similarity(d, first); i != j && s > own-0.05 {
						t.Errorf("%s, look %d: person %d has similarity %.3f with themselves, %.3f with person %d", c.clip, k+1, i, own, s, j)
					}
				}
			}
		}
	}
}

// lookAtAll describes the people of a frame from left to right.
func lookAtAll(t *testing.T, det *Detector, lm *Landmarker, m Image) [][]float64 {
	t.Helper()
	faces, err := det.Detect(m)
	if err != nil {
		t.Fatal(err)
	}
	sort.Slice(faces, func(i, j int) bool { return faces[i].Box[0] < faces[j].Box[0] })
	rois := make([]ROI, len(faces))
	for i, f := range faces {
		rois[i] = ROIFromFace(f)
	}
	results, err := lm.Run(m, rois)
	if err != nil {
		t.Fatal(err)
	}
	results = slices.DeleteFunc(results, func(r FaceResult) bool { return r.Appearance == nil })
	people := make([][]float64, len(results))
	for i, r := range results {
		people[i] = r.Appearance
	}
	return people
}
