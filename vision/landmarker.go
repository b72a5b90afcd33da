package vision

import (
	"fmt"

	"facetrack/infer"
)

// FaceResult is what the landmarker says about one region.
type FaceResult struct {
	ROI         ROI
	Presence    float64      // 0..1: that the region shows a face
	Points      [][3]float64 // px of the frame; z in the same unit, smaller is nearer, 0 about the head's centre
	Blendshapes []float64    // BlendshapeNames' scores, 0..1; nil below the presence threshold or without that network
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
	opts       LandmarkerOptions
	session    infer.Session
	size       int // of the input
	points     int // count
	pointsOut  int // index of the output
	presentOut int
	cropper    *Cropper
	in         []float32
	out        []infer.Buffer // host buffers of MaxBatch items
	outLens    []int
	shapes     *blendshaper // nil without the network
	looks      *appearance  // nil when left out
}

// NewLandmarker expects a network with the input [1, N, N, 3], an output of 3 values a point and an output
// with one presence logit, and a blendshape network with the input [1, 146, 2], which may be nil. Errors
// wrap ErrModel.
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
	if err := l.findOutputs(); err != nil {
		return nil, err
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
	l.shapes, err = newBlendshaper(blendshapes, l.points, opts.MaxBatch)
	return l, err
}

// findOutputs takes the largest output for the points and the first single value for the presence.
func (l *Landmarker) findOutputs() error {
	l.pointsOut, l.presentOut = -1, -1
	most := 3 * (leftEyeCorner + 1)
	for i, o := range l.session.Outputs() {
		n := o.Len()
		l.outLens = append(l.outLens, n)
		l.out = append(l.out, infer.Buffer{Host: make([]float32, l.opts.MaxBatch*n)})
		if n == 1 && l.presentOut < 0 {
			l.presentOut = i
		}
		if n >= most && n%3 == 0 {
			l.pointsOut, l.points, most = i, n/3, n
		}
	}
	if l.pointsOut < 0 || l.presentOut < 0 {
		return fmt.Errorf("%w: outputs %v; expected face points (3 values each) and one presence value", ErrModel, l.session.Outputs())
	}
	return nil
}

// Options are those in effect: defaults are filled in.
func (l *Landmarker) Options() LandmarkerOptions { return l.opts }

// PointCount is how many points a face has: 478 with irises.
func (l *Landmarker) PointCount() int { return l.points }
