package vision

import (
	"errors"
	"fmt"

	"facetrack/infer"
)

// Errors of the networks' inputs and outputs.
var (
	ErrModel     = errors.New("vision: the network does not fit")
	ErrNonFinite = errors.New("vision: the network's output is not finite")
)

// DetectorOptions tune a Detector; zero fields take the kind's defaults.
type DetectorOptions struct {
	ScoreThreshold float64 // 0..1; default 0.6 (yunet), 0.5 (blazeface)
	NMSThreshold   float64 // IoU above which two boxes are one face; default 0.3
	MaxFaces       int     // default 32
	MaxBatch       int     // frames per run of the network, at most the session's; default 1
}

// decoder turns one frame's outputs into faces in input pixels.
type decoder interface {
	decode(out [][]float32, threshold float64) []Face
	reduce(faces []Face, threshold float64, limit int) []Face
	options(DetectorOptions) DetectorOptions
	normalization() Normalization
}

// Detector finds faces in whole frames. It is used by one goroutine at a time and does not own its session.
type Detector struct {
	session infer.Session
	decoder decoder
	opts    DetectorOptions
	boxer   *Letterboxer
	floats  int // of one input
	in      []float32
	out     [][]float32
	lens    []int // of one item of each output
	maps    []Mapping
}

// NewDetector makes a detector of kind "yunet" or "blazeface". The session's input is [1, N, N, 3]; an error
// wraps ErrModel when the session is not of that kind.
func NewDetector(kind string, session infer.Session, opts DetectorOptions) (*Detector, error) {
	size, err := inputSize(session)
	if err != nil {
		return nil, err
	}
	var dec decoder
	switch kind {
	case "yunet":
		dec, err = newYuNet(size, session.Outputs())
	case "blazeface":
		dec, err = newBlazeFace(size, session.Outputs())
	default:
		return nil, fmt.Errorf("%w: detector kind %q; use yunet or blazeface", ErrModel, kind)
	}
	if err != nil {
		return nil, err
	}
	boxer, err := NewLetterboxer(size, dec.normalization())
	if err != nil {
		return nil, err
	}
	d := &Detector{session: session, decoder: dec, opts: dec.options(opts).common(), boxer: boxer, floats: size * size * 3}
	d.allocate()
	return d, nil
}

// Tune changes the thresholds and the number of faces. It is called between two frames.
func (d *Detector) Tune(o DetectorOptions) {
	o.MaxBatch = d.opts.MaxBatch
	d.opts = d.decoder.options(o).common()
}

// Options are those in effect: defaults are filled in.
func (d *Detector) Options() DetectorOptions { return d.opts }

func (o DetectorOptions) common() DetectorOptions {
	if o.NMSThreshold == 0 {
		o.NMSThreshold = 0.3
	}
	if o.MaxFaces < 1 {
		o.MaxFaces = 32
	}
	o.MaxBatch = max(1, o.MaxBatch)
	return o
}

func (d *Detector) allocate() {
	n := d.opts.MaxBatch
	d.in = make([]float32, n*d.floats)
	d.maps = make([]Mapping, n)
	for _, info := range d.session.Outputs() {
		d.lens = append(d.lens, info.Len())
		d.out = append(d.out, make([]float32, n*info.Len()))
	}
}

// inputSize is N of a session whose one input is [1, N, N, 3].
func inputSize(s infer.Session) (int, error) {
	in := s.Inputs()
	if len(in) != 1 || len(in[0].Shape) != 4 || in[0].Shape[1] != in[0].Shape[2] || in[0].Shape[3] != 3 {
		return 0, fmt.Errorf("%w: inputs %v; expected one square image [1 N N 3]", ErrModel, in)
	}
	return in[0].Shape[1], nil
}
