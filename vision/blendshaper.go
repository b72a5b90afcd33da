package vision

import (
	"fmt"

	"facetrack/infer"
)

// blendshaper feeds BlendshapeIndices' points to the blendshape network, in pixels of the frame from the region's centre on: to the network places are all
// the same, but float32 tells small faces far from the frame's corner poorly.
type blendshaper struct {
	session infer.Session
	in, out []float32
}

func newBlendshaper(s infer.Session, points, maxBatch int) (*blendshaper, error) {
	in, out := s.Inputs(), s.Outputs()
	if len(in) != 1 || in[0].Len() != 2*len(BlendshapeIndices) || len(out) != 1 || out[0].Len() != len(BlendshapeNames) {
		return nil, fmt.Errorf("%w: inputs %v and outputs %v; a blendshape network has [1 146 2] and [52]", ErrModel, in, out)
	}
	if last := BlendshapeIndices[len(BlendshapeIndices)-1]; points <= last {
		return nil, fmt.Errorf("%w: %d face points; blendshapes need %d, with irises", ErrModel, points, last+1)
	}
	return &blendshaper{
		session: s,
		in:      make([]float32, maxBatch*2*len(BlendshapeIndices)),
		out:     make([]float32, maxBatch*len(BlendshapeNames)),
	}, nil
}

// run scores at most maxBatch faces.
func (b *blendshaper) run(faces []*FaceResult) error {
	n := len(faces)
	in, out := b.in[:n*2*len(BlendshapeIndices)], b.out[:n*len(BlendshapeNames)]
	at := in
	for _, f := range faces {
		for _, i := range BlendshapeIndices {
			at[0], at[1] = float32(f.Points[i][0]-f.ROI.CX), float32(f.Points[i][1]-f.ROI.CY)
			at = at[2:]
		}
	}
	if err := b.session.Run(n, []infer.Buffer{{Host: in}}, []infer.Buffer{{Host: out}}); err != nil {
		return fmt.Errorf("vision: blendshapes: %w", err)
	}
	if !finite(out) {
		return fmt.Errorf("%w: blendshapes", ErrNonFinite)
	}
	for k, f := range faces {
		f.Blendshapes = make([]float64, len(BlendshapeNames))
		for i := range f.Blendshapes {
			f.Blendshapes[i] = float64(out[k*len(BlendshapeNames)+i])
		}
	}
	return nil
}
