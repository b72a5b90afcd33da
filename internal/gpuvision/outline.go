package gpuvision

import (
	"facetrack/infer"
	"facetrack/vision"
)

// outline is a session that only has a shape, so that package vision itself says which networks fit.
type outline struct {
	infer.Session
	in, out []infer.Info
}

func outlineOf(g *infer.Graph) outline { return outline{in: g.InputInfo(), out: g.OutputInfo()} }

func (o outline) Inputs() []infer.Info  { return o.in }
func (o outline) Outputs() []infer.Info { return o.out }

// checkLandmarks returns where the landmark network's outputs are, and v with package vision's defaults.
func checkLandmarks(landmarks, blendshapes *infer.Graph, v vision.LandmarkerOptions) (vision.FaceOutputs, vision.LandmarkerOptions, error) {
	var shapes infer.Session
	if blendshapes != nil {
		shapes = outlineOf(blendshapes)
	}
	l, err := vision.NewLandmarker(outlineOf(landmarks), shapes, v)
	if err != nil {
		return vision.FaceOutputs{}, v, err
	}
	return l.Outputs(), l.Options(), nil
}

// checkDetector returns v with package vision's defaults for the kind.
func checkDetector(kind string, g *infer.Graph, v vision.DetectorOptions) (vision.DetectorOptions, error) {
	d, err := vision.NewDetector(kind, outlineOf(g), v)
	if err != nil {
		return v, err
	}
	return d.Options(), nil
}
