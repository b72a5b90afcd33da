package vision

import (
	"errors"
	"math"
	"testing"

	"facetrack/infer"
	"facetrack/topology"
)

// seeBlobOwn is a network with all outputs of FaceOutputs: point 8 on the red blob, the corners of the eyes level about it.
func seeBlobOwn(size int, logit float32, turn [turnValues]float32) *fakeSession {
	n := topology.ICT.Count
	return &fakeSession{
		in: []infer.Info{{Name: "image", Shape: []int{1, size, size, 3}}},
		out: []infer.Info{
			{Name: "points", Shape: []int{1, 1, 3 * n}}, {Name: "spread", Shape: []int{1, 1, n}}, {Name: "presence", Shape: []int{1, 1, 1}},
			{Name: "coefficients", Shape: []int{1, 1, 52}}, {Name: "pose", Shape: []int{1, 1, 6}},
		},
		compute: func(in []float32, out [][]float32) {
			x, y := blob(in, size, 0)
			for i := range n {
				sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(n))
				out[0][3*i], out[0][3*i+1], out[0][3*i+2] = float32(x+30*cos), float32(y+30*sin), 3
				out[1][i] = float32(math.Log(ConfidenceRadius * float64(1+i%3)))
			}
			for i, dx := range map[int]float64{8: 0, 36: -20, 45: 20} {
				out[0][3*i], out[0][3*i+1] = float32(x+dx), float32(y)
			}
			out[2][0] = logit
			for i := range 52 {
				out[3][i] = float32(i) / 52
			}
			copy(out[4], turn[:])
		},
	}
}

func TestOwnFaceNetwork(t *testing.T) {
	const size, x0, y0 = 96, 150.37, 101.81
	yaw := 0.4
	sin, cos := math.Sincos(yaw)
	// The first column longer than 1, the second askew: what is told is the head turned about y.
	columns := [turnValues]float32{float32(2 * cos), 0, float32(2 * sin), float32(0.3 * cos), 1, float32(0.3 * sin)}
	l, err := NewLandmarker(seeBlobOwn(size, 3, columns), nil, LandmarkerOptions{MaxBatch: 2})
	if err != nil || l.Topology() != topology.ICT {
		t.Fatalf("%+v, %v", l, err)
	}
	rois := []ROI{{CX: 150, CY: 100, Size: 96}, {CX: 147, CY: 106, Size: 130, Rotation: 0.5}, {CX: 152, CY: 99, Size: 80, Rotation: -2.2}}
	results, err := l.Run(redBlob(BGR, 320, 240, x0, y0, 7), rois)
	if err != nil || len(results) != len(rois) {
		t.Fatalf("%d results, %v", len(results), err)
	}
	for i, r := range results {
		near2(t, "the chin", r.Points[8][0], r.Points[8][1], x0, y0, 0.12)
		if next, err := r.Next(); err != nil || math.Abs(math.Remainder(next.Rotation-rois[i].Rotation, 2*math.Pi)) > 1e-5 {
			t.Errorf("next region %+v, %v", next, err)
		}
		if len(r.Points) != 293 || len(r.Confidence) != 293 || len(r.Blendshapes) != 52 || math.Abs(r.Blendshapes[26]-0.5) > 1e-6 || len(r.Appearance) != AppearanceSize {
			t.Errorf("%d points, %d confidences, blendshapes %v, %d looks", len(r.Points), len(r.Confidence), r.Blendshapes, len(r.Appearance))
		}
		for k, deviations := range []float64{1, 0.5, 1. / 3} { // the radius in standard deviations
			if want := 1 - math.Exp(-deviations*deviations/2); math.Abs(r.Confidence[k]-want) > 1e-6 {
				t.Errorf("confidence %d is %.6f, want %.6f", k, r.Confidence[k], want)
			}
		}
		s, c := math.Sincos(rois[i].Rotation)
		want := Turn{{c * cos, -s, -c * sin}, {s * cos, c, -s * sin}, {sin, 0, cos}}
		for a := range want {
			for b := range want[a] {
				if math.Abs(r.Turn[a][b]-want[a][b]) > 1e-6 {
					t.Fatalf("region %d: turn %v, want %v", i, *r.Turn, want)
				}
			}
		}
	}
}

func TestOwnFaceNetworkBelowThePresence(t *testing.T) {
	l, err := NewLandmarker(seeBlobOwn(64, -3, [turnValues]float32{}), nil, LandmarkerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := l.Run(redBlob(BGR, 200, 160, 100, 80, 4), []ROI{{CX: 100, CY: 80, Size: 80}})
	if err != nil || got[0].Blendshapes != nil || got[0].Appearance != nil || len(got[0].Points) != 293 || got[0].Turn != nil {
		t.Errorf("%+v, %v; want points alone, and no rotation of columns that are 0", got, err)
	}
}

func TestOwnFaceNetworkRefusals(t *testing.T) {
	good := seeBlobOwn(32, 1, [turnValues]float32{1, 0, 0, 0, 1, 0})
	shapes := &fakeSession{in: []infer.Info{{Shape: []int{1, 146, 2}}}, out: []infer.Info{{Shape: []int{52}}}}
	if _, err := NewLandmarker(good, shapes, LandmarkerOptions{}); !errors.Is(err, ErrModel) {
		t.Errorf("blendshapes from two networks: %v", err)
	}
	alone := &fakeSession{in: good.in, out: []infer.Info{good.out[0], good.out[2]}}
	if _, err := NewLandmarker(alone, shapes, LandmarkerOptions{}); !errors.Is(err, ErrModel) {
		t.Errorf("blendshapes from points of another set: %v", err)
	}
	for out := range good.out {
		s := seeBlobOwn(32, 1, [turnValues]float32{1, 0, 0, 0, 1, 0})
		inner := s.compute
		s.compute = func(in []float32, o [][]float32) {
			inner(in, o)
			o[out][0] = float32(math.Inf(1))
		}
		l, err := NewLandmarker(s, nil, LandmarkerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Run(redBlob(BGR, 64, 64, 32, 32, 5), []ROI{{CX: 32, CY: 32, Size: 40}}); !errors.Is(err, ErrNonFinite) {
			t.Errorf("infinity in %s: error %v, want ErrNonFinite", good.out[out].Name, err)
		}
	}
}

func TestConfidenceFallsWithTheSpread(t *testing.T) {
	for spread, want := range map[float64]float64{-10: 1, math.Log(ConfidenceRadius): 1 - math.Exp(-0.5), 5: 0} {
		if got := Confidence(spread); math.Abs(got-want) > 1e-6 {
			t.Errorf("spread %g: %g, want %g", spread, got, want)
		}
	}
}
