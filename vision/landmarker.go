package vision

import (
	"fmt"

	"facetrack/infer"
	"facetrack/topology"
)

// FaceResult is what the landmarker says about one region.
type FaceResult struct {
	ROI         ROI
	Presence    float64      // 0..1: that the region shows a face
	Points      [][3]float64 // px of the frame; z in the same unit, smaller is nearer, 0 about the head's centre
	Confidence  []float64    // of each point, see Confidence; nil when the network does not tell it
	Turn        *Turn        // nil when the network does not tell it
	Blendshapes []float64    // BlendshapeNames' scores, 0..1; nil below the presence threshold or when nobody tells them
	Appearance  []float64    // AppearanceSize values of unit length; nil below the presence threshold
}

// Next is the region to look at in the next frame.
func (r FaceResult) Next() (ROI, error) { return ROIFromPoints(r.Points) }

// LandmarkerOptions tune a Landmarker; zero fields take defaults.
type LandmarkerOptions struct {
	PresenceThreshold float64 // below it blendshapes and appearance are left out; default 0.5
	Retries           int     // see Run; default 2, negative for none
	MaxBatch          int     // faces per run of the networks, at most the sessions'; default 1
	NoAppearance      bool    // leave out the appearance descriptor
}

// Landmarker turns regions into face points, blendshape scores and an appearance descriptor. It is used by
// one goroutine at a time and does not own its sessions.
type Landmarker struct {
	opts    LandmarkerOptions
	session infer.Session
	size    int // of the input
	outputs FaceOutputs
	cropper *Cropper
	in      []float32
	out     []infer.Buffer // host buffers of MaxBatch items
	outLens []int
	shapes  *blendshaper // nil without the network
	looks   *appearance  // nil when left out
}

// NewLandmarker expects a network with the input [1, N, N, 3] and the outputs of FaceOutputs, and a blendshape network with the input
// [1, 146, 2], which may be nil and must be when the first network scores blendshapes itself. Errors wrap ErrModel.
func NewLandmarker(landmarks, blendshapes infer.Session, opts LandmarkerOptions) (*Landmarker, error) {
	size, err := inputSize(landmarks)
	if err != nil {
		return nil, err
	}
	if opts.PresenceThreshold == 0 {
		opts.PresenceThreshold = 0.5
	}
	if opts.Retries == 0 {
		opts.Retries = 2
	}
	opts.MaxBatch = max(1, opts.MaxBatch)
	opts.Retries = max(0, opts.Retries)
	l := &Landmarker{opts: opts, session: landmarks, size: size}
	if l.outputs, err = FindFaceOutputs(landmarks.Outputs()); err != nil {
		return nil, err
	}
	for _, o := range landmarks.Outputs() {
		l.outLens = append(l.outLens, o.Len())
		l.out = append(l.out, infer.Buffer{Host: make([]float32, opts.MaxBatch*o.Len())})
	}
	if l.cropper, err = NewCropper(size, RGBUnit); err != nil {
		return nil, err
	}
	l.in = make([]float32, opts.MaxBatch*size*size*3)
	if !opts.NoAppearance {
		if l.looks, err = newAppearance(); err != nil {
			return nil, err
		}
	}
	if blendshapes == nil {
		return l, nil
	}
	if l.outputs.Coefficients >= 0 {
		return nil, fmt.Errorf("%w: a blendshape network beside one that scores blendshapes itself", ErrModel)
	}
	l.shapes, err = newBlendshaper(blendshapes, l.outputs.Set.Count, opts.MaxBatch)
	return l, err
}

// Options are those in effect: defaults are filled in.
func (l *Landmarker) Options() LandmarkerOptions { return l.opts }

// Outputs are where the network's outputs are.
func (l *Landmarker) Outputs() FaceOutputs { return l.outputs }

// Topology is the set of points that a face has.
func (l *Landmarker) Topology() *topology.Topology { return l.outputs.Set }
