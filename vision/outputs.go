package vision

import (
	"fmt"

	"facetrack/infer"
	"facetrack/topology"
)

// FaceOutputs says which output of a landmark network is what; those that a network may lack are −1 then.
type FaceOutputs struct {
	Set      *topology.Topology // of the points
	Points   int                // 3 values a point, px of the input
	Presence int                // logit

	Spread       int // a value a point: logarithm of the standard deviation of x and y, in parts of the region's side
	Coefficients int // BlendshapeNames' scores, 0..1
	Turn         int // the first two columns of a rotation that takes the head's axes to the region's
}

// turnValues are how many numbers make a rotation.
const turnValues = 6

// FindFaceOutputs knows outputs by their lengths. Errors wrap ErrModel.
func FindFaceOutputs(outputs []infer.Info) (FaceOutputs, error) {
	o := FaceOutputs{Points: -1, Presence: -1, Spread: -1, Coefficients: -1, Turn: -1}
	for i, out := range outputs {
		if out.Len()%3 != 0 {
			continue
		}
		if set, ok := topology.OfCount(out.Len() / 3); ok {
			o.Set, o.Points = set, i
		}
	}
	for i, out := range outputs {
		switch n := out.Len(); {
		case n == 1 && o.Presence < 0:
			o.Presence = i
		case o.Set != nil && n == o.Set.Count:
			o.Spread = i
		case n == len(BlendshapeNames):
			o.Coefficients = i
		case n == turnValues:
			o.Turn = i
		}
	}
	if o.Points < 0 || o.Presence < 0 {
		return o, fmt.Errorf("%w: outputs %v; expected the points of %s or %s (3 values each) and one presence value", ErrModel, outputs,
			topology.MediaPipe.Name, topology.ICT.Name)
	}
	return o, nil
}

// read are the outputs that are there.
func (o FaceOutputs) read() (all []int) {
	for _, i := range []int{o.Points, o.Presence, o.Spread, o.Coefficients, o.Turn} {
		if i >= 0 {
			all = append(all, i)
		}
	}
	return all
}
