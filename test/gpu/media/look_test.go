//go:build cuda

package media

import (
	"math"
	"testing"

	"facetrack/infer"
	"facetrack/internal/kernels/faces"
	"facetrack/vision"
)

// seen is a face on both sides, with all that there is to say of it.
func seen(t *testing.T) (faces.Result, vision.FaceResult) {
	t.Helper()
	want := vision.FaceResult{ROI: vision.ROI{CX: 100, CY: 100, Size: 120}, Presence: 1}
	for i := range 478 {
		sin, cos := math.Sincos(float64(i))
		want.Points = append(want.Points, [3]float64{100 + 40*cos, 100 + 50*sin, 0})
	}
	want.Blendshapes = make([]float64, len(vision.BlendshapeNames))
	want.Appearance = make([]float64, vision.AppearanceSize)
	next, err := want.Next()
	if err != nil {
		t.Fatal(err)
	}
	return faces.Result{FaceResult: want, Box: vision.PointsBox(want.Points), Region: next, HasNext: true}, want
}

// A look or blendshapes that are missing from one side are no agreement.
func TestMissing(t *testing.T) {
	for name, c := range map[string]struct {
		change        func(got, want *vision.FaceResult)
		sided, beyond bool
	}{
		"nothing":                   {func(_, _ *vision.FaceResult) {}, false, false},
		"the GPU's look":            {func(got, _ *vision.FaceResult) { got.Appearance = nil }, true, true},
		"plain Go's look":           {func(_, want *vision.FaceResult) { want.Appearance = nil }, true, true},
		"a part of the GPU's look":  {func(got, _ *vision.FaceResult) { got.Appearance = got.Appearance[1:] }, true, true},
		"the GPU's blendshapes":     {func(got, _ *vision.FaceResult) { got.Blendshapes = nil }, true, false},
		"all that the GPU says":     {func(got, _ *vision.FaceResult) { got.Blendshapes, got.Appearance = nil, nil }, true, false},
		"all of a face that is not": {func(got, want *vision.FaceResult) { *got = lookless(*got); *want = lookless(*want) }, false, false},
	} {
		got, want := seen(t)
		c.change(&got.FaceResult, &want)
		if sided := oneSided(got.FaceResult, want); sided != c.sided {
			t.Errorf("%s: one-sided %v", name, sided)
		}
		for _, precision := range []string{infer.FP32, infer.FP16} {
			if d := differ(got, want); allowed[precision].within(d) == c.beyond {
				t.Errorf("%s: %+v", name, d)
			}
			report := comparison{t: t, limits: allowed[precision]}
			if !c.beyond {
				report.faces(name, 0, expected{rois: []vision.ROI{want.ROI}, faces: []vision.FaceResult{want}}, []faces.Result{got}, []vision.FaceResult{want})
				if (report.result.Doubtful == 1) != c.sided {
					t.Errorf("%s: %d faces are counted", name, report.result.Doubtful)
				}
			}
		}
	}
}

func lookless(f vision.FaceResult) vision.FaceResult {
	f.Blendshapes, f.Appearance = nil, nil
	return f
}
