package vision

import (
	"errors"
	"math"
	"testing"

	"facetrack/infer"
	"facetrack/topology"
)

// seeBlob puts point 0 on the red blob, the eye corners 40 input pixels apart about it, and the others around.
func seeBlob(size int, logit float32) *fakeSession {
	return fakeLandmarks(size, func(in []float32, points []float32, presence *float32) {
		x, y := blob(in, size, 0)
		for i := range 478 {
			a := 2 * math.Pi * float64(i) / 478
			points[3*i], points[3*i+1], points[3*i+2] = float32(x+30*math.Cos(a)), float32(y+30*math.Sin(a)), -6
		}
		set := func(i int, dx float64) { points[3*i], points[3*i+1] = float32(x+dx), float32(y) }
		set(0, 0)
		set(topology.MediaPipe.Eyes[0].Outer, -20)
		set(topology.MediaPipe.Eyes[1].Outer, 20)
		*presence = logit
	})
}

func TestLandmarksMapBackWithSubpixelAccuracy(t *testing.T) {
	const size, x0, y0 = 96, 150.37, 101.81
	for _, f := range formats {
		l, err := NewLandmarker(seeBlob(size, 3), nil, LandmarkerOptions{MaxBatch: 2})
		if err != nil {
			t.Fatal(err)
		}
		m := redBlob(f, 320, 240, x0, y0, 7)
		rois := []ROI{
			{CX: 150, CY: 100, Size: 96}, {CX: 147, CY: 106, Size: 130, Rotation: 0.5},
			{CX: 152, CY: 99, Size: 80, Rotation: -2.2}, {CX: 150, CY: 100, Size: 230, Rotation: 1.1},
		}
		results, err := l.Run(m, rois)
		if err != nil || len(results) != len(rois) {
			t.Fatalf("%d results, %v", len(results), err)
		}
		for i, r := range results {
			p := r.Points[0]
			near2(t, string(f), p[0], p[1], x0, y0, 0.12)
			if want := -6 * rois[i].Size / size; math.Abs(p[2]-want) > 1e-4 {
				t.Errorf("z %.4f, want %.4f: scaled like x", p[2], want)
			}
			// The eyes lie along the region's x axis, 40 input pixels apart.
			a, b := r.Points[topology.MediaPipe.Eyes[0].Outer], r.Points[topology.MediaPipe.Eyes[1].Outer]
			if d := math.Hypot(b[0]-a[0], b[1]-a[1]); math.Abs(d-40*rois[i].Size/size) > 1e-3 {
				t.Errorf("eyes %.3f px apart", d)
			}
			if turn := math.Remainder(math.Atan2(b[1]-a[1], b[0]-a[0])-rois[i].Rotation, 2*math.Pi); math.Abs(turn) > 1e-5 {
				t.Errorf("eyes turned by %.6f rad against the region", turn)
			}
			next, err := r.Next()
			if err != nil || math.Abs(math.Remainder(next.Rotation-rois[i].Rotation, 2*math.Pi)) > 1e-5 ||
				math.Abs(next.Size-60*rois[i].Size/size*Margin) > 0.1 {
				t.Errorf("next region %+v, %v", next, err)
			}
			near2(t, "next region", next.CX, next.CY, x0, y0, 0.15)
			if math.Abs(r.Presence-1/(1+math.Exp(-3))) > 1e-7 || len(r.Appearance) != AppearanceSize || r.Blendshapes != nil {
				t.Errorf("presence %v, %d looks, %d blendshapes", r.Presence, len(r.Appearance), len(r.Blendshapes))
			}
		}
	}
}

func TestBlendshapesReadTheRightPoints(t *testing.T) {
	shapes := &fakeSession{
		in:  []infer.Info{{Name: "in", Shape: []int{1, 146, 2}}},
		out: []infer.Info{{Name: "out", Shape: []int{52}}},
		compute: func(in []float32, out [][]float32) {
			copy(out[0], in) // the first 26 points
		},
	}
	l, err := NewLandmarker(seeBlob(64, 2), shapes, LandmarkerOptions{MaxBatch: 2})
	if err != nil {
		t.Fatal(err)
	}
	r := ROI{CX: 50, CY: 40, Size: 64}
	results, err := l.Run(redBlob(BGR, 100, 80, 52, 41, 5), []ROI{r, r, r})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range results {
		for i, v := range f.Blendshapes {
			if want := f.Points[BlendshapeIndices[i/2]][i%2] - [2]float64{r.CX, r.CY}[i%2]; math.Abs(v-want) > 1e-4 {
				t.Fatalf("value %d is %v, want %v of point %d in frame pixels from the region's centre on", i, v, want, BlendshapeIndices[i/2])
			}
		}
	}
	if len(results[2].Blendshapes) != 52 {
		t.Errorf("%d scores, want 52", len(results[2].Blendshapes))
	}
}

func TestAbsentFacesAreRetriedWhereTheirPointsAre(t *testing.T) {
	const size = 64
	// Present only when the blob is near the middle of the region.
	s := fakeLandmarks(size, nil)
	see := seeBlob(size, 0)
	s.compute = func(in []float32, out [][]float32) {
		see.compute(in, out)
		x, y := blob(in, size, 0)
		out[1][0] = float32(4 - math.Hypot(x-32, y-32))
	}
	m := redBlob(BGR, 200, 160, 100, 80, 4)
	off := ROI{CX: 88, CY: 80, Size: 80}
	for _, c := range []struct {
		retries int
		present bool
	}{{-1, false}, {0, true}, {1, true}} {
		l, err := NewLandmarker(s, nil, LandmarkerOptions{Retries: c.retries})
		if err != nil {
			t.Fatal(err)
		}
		got, err := l.Run(m, []ROI{off})
		if err != nil {
			t.Fatal(err)
		}
		if (got[0].Presence > 0.5) != c.present || (got[0].ROI != off) != c.present || (got[0].Appearance != nil) != c.present {
			t.Errorf("%d retries: presence %.2f at %+v", c.retries, got[0].Presence, got[0].ROI)
		}
	}
	// Without success the first result stays.
	strict, err := NewLandmarker(s, nil, LandmarkerOptions{PresenceThreshold: 0.99})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := strict.Run(m, []ROI{off}); err != nil || got[0].ROI != off || got[0].Appearance != nil {
		t.Errorf("never present: %+v, %v", got[0].ROI, err)
	}
	// A region whose points lead far away is not followed there.
	l, err := NewLandmarker(s, nil, LandmarkerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	far := ROI{CX: 70, CY: 80, Size: 62}
	if got, err := l.Run(m, []ROI{far}); err != nil || got[0].ROI != far || got[0].Presence > 0.5 {
		t.Errorf("far region: %+v, %v", got[0].ROI, err)
	}
}

func TestLandmarkerRefusesWhatDoesNotFit(t *testing.T) {
	good := seeBlob(32, 1)
	image := []infer.Info{{Shape: []int{1, 32, 32, 3}}}
	for name, s := range map[string]*fakeSession{
		"no presence": {in: image, out: good.out[:1]},
		"no points":   {in: image, out: good.out[1:]},
		"few points":  {in: image, out: []infer.Info{{Shape: []int{1, 204}}, {Shape: []int{1, 1}}}},
		"no image":    {in: []infer.Info{{Shape: []int{1, 146, 2}}}, out: good.out},
	} {
		if _, err := NewLandmarker(s, nil, LandmarkerOptions{}); !errors.Is(err, ErrModel) {
			t.Errorf("%s: error %v, want ErrModel", name, err)
		}
	}
	if _, err := NewLandmarker(good, good, LandmarkerOptions{}); !errors.Is(err, ErrModel) {
		t.Errorf("landmarks as blendshapes: error %v", err)
	}
	m := redBlob(BGR, 64, 64, 32, 32, 5)
	l, err := NewLandmarker(good, nil, LandmarkerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Run(m, []ROI{{CX: 32, CY: 32, Size: math.NaN()}}); !errors.Is(err, ErrROI) {
		t.Errorf("error %v, want ErrROI", err)
	}
	if got, err := l.Run(m, nil); err != nil || len(got) != 0 {
		t.Errorf("no regions: %v, %v", got, err)
	}
	for _, out := range []int{0, 1} {
		s := seeBlob(32, 1)
		inner := s.compute
		s.compute = func(in []float32, o [][]float32) {
			inner(in, o)
			o[out][0] = float32(math.NaN())
		}
		l, err := NewLandmarker(s, nil, LandmarkerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Run(m, []ROI{{CX: 32, CY: 32, Size: 40}}); !errors.Is(err, ErrNonFinite) {
			t.Errorf("NaN in output %d: error %v, want ErrNonFinite", out, err)
		}
	}
}
