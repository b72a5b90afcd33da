package vision

// LetterboxPlan is what a Letterboxer does with the frames of one geometry, for those who do it elsewhere.
type LetterboxPlan struct {
	Mapping
	Cols, Rows int // of the picture, input pixels
	// The filters of a picture that is shrunk; without taps it is enlarged. Chroma has filters of its own, in
	// chroma samples: along the rows in YUV frames, from row to row in NV12 frames.
	X, Y, ChromaX, ChromaY Boxes
}

// Boxes are the box filter of one axis: output i averages Count pixels from First[i] with the Weights from
// i·Count on, which add up to 65536 along a row, and to 256 from row to row, where sums are rounded to 8 bits.
type Boxes struct {
	Count   int
	First   []int
	Weights []uint64
}

// PlanLetterbox plans for inputs of size × size pixels. Errors wrap ErrImage.
func PlanLetterbox(size int, f Format, width, height int) (LetterboxPlan, error) {
	l, err := NewLetterboxer(size, Normalization{})
	if err != nil {
		return LetterboxPlan{}, err
	}
	if _, err := FrameBytes(f, width, height); err != nil {
		return LetterboxPlan{}, err
	}
	m := Image{Format: f, Width: width, Height: height}
	l.plan(m)
	p := LetterboxPlan{Mapping: l.mapped, Cols: l.cols, Rows: l.rows}
	if s := l.shrink; s != nil {
		p.X = newTaps(width, l.cols, l.mapped.Scale, one).boxes() // a shrinker pairs those of BGR frames
		p.Y, p.ChromaX, p.ChromaY = s.ys.boxes(), s.chromaXs.boxes(), s.chromaYs.boxes()
	}
	return p, nil
}

func (t taps) boxes() Boxes { return Boxes{Count: t.count, First: t.first, Weights: t.weights} }
