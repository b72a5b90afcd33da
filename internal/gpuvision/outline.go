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

// checkLandmarks returns how many points the landmark network has, and v with package vision's defaults.
func checkLandmarks(landmarks, blendshapes *infer.Graph, v vision.LandmarkerOptions) (points int, _ vision.LandmarkerOptions, err error) {
	var shapes infer.Session
	if blendshapes != nil {
		shapes = outlineOf(blendshapes)
	}
	l, err := vision.NewLandmarker(outlineOf(landmarks), shapes, v)
	if err != nil {
		return 0, v, err
	}
	return l.PointCount(), l.Options(), nil
}

// checkDetector returns v with package vision's defaults for the kind.
func checkDetector(kind string, g *infer.Graph, v vision.DetectorOptions) (vision.DetectorOptions, error) {
	d, err := vision.NewDetector(kind, outlineOf(g), v)
	if err != nil {
		return v, err
	}
	return d.Options(), nil
}

// landmarks finds the points, the last output of so many, and the presence, the first single number.
func (o outline) landmarks(points int) (pointsOut, presenceOut int) {
	presenceOut = -1
	for i, info := range o.out {
		if info.Len() == 3*points {
			pointsOut = i
		}
		if info.Len() == 1 && presenceOut < 0 {
			presenceOut = i
		}
	}
	return pointsOut, presenceOut
}
