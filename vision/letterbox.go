package vision

import (
	"fmt"
	"math"
)

// Mapping leads from a letterboxed input back to the frame: frame = (input − Offset) · Scale, per axis, in
// continuous coordinates (the centre of input pixel 0 is 0.5).
type Mapping struct {
	Scale            float64 // frame pixels per input pixel
	OffsetX, OffsetY float64 // whole input pixels left of and above the picture
}

// Frame maps a point of the network's input to the frame.
func (m Mapping) Frame(x, y float64) (float64, float64) {
	return (x - m.OffsetX) * m.Scale, (y - m.OffsetY) * m.Scale
}

// Letterboxer fits frames into a square network input: aspect kept, centred, bars of black. Shrinking
// averages every source pixel that an input pixel covers; enlarging is bilinear. It keeps tables and rows
// for the last geometry and is used by one goroutine at a time.
type Letterboxer struct {
	size   int
	norm   Normalization
	line   []int32
	format Format
	width  int
	height int
	shrink *shrinker // nil when enlarging
	cols   int
	rows   int
	mapped Mapping
}

// NewLetterboxer makes inputs of size × size pixels.
func NewLetterboxer(size int, norm Normalization) (*Letterboxer, error) {
	if size < 1 || size > maxSide {
		return nil, fmt.Errorf("%w: letterbox of %d pixels; use 1 to %d", ErrImage, size, maxSide)
	}
	return &Letterboxer{size: size, norm: norm, line: make([]int32, 3*size)}, nil
}

// Fill writes size × size × 3 floats into dst and tells how to map back.
func (l *Letterboxer) Fill(dst []float32, m Image) (Mapping, error) {
	if err := m.Validate(); err != nil {
		return Mapping{}, err
	}
	if len(dst) != l.size*l.size*3 {
		return Mapping{}, fmt.Errorf("%w: letterbox input has %d floats; %d×%d needs %d", ErrImage, len(dst), l.size, l.size, l.size*l.size*3)
	}
	if l.format != m.Format || l.width != m.Width || l.height != m.Height {
		l.plan(m)
	}
	l.bars(dst)
	out := emitter{norm: l.norm, yuv: m.Format != BGR}
	left := int(l.mapped.OffsetX)
	line, read := l.line[:3*l.cols], l.enlarge(m)
	if l.shrink != nil {
		read = func(dst []int32, y int) { l.shrink.line(dst, m, y) }
	}
	for y := range l.rows {
		read(line, y)
		at := ((y+int(l.mapped.OffsetY))*l.size + left) * 3
		out.emit(dst[at:at+3*l.cols], line)
	}
	return l.mapped, nil
}

func (l *Letterboxer) plan(m Image) {
	l.format, l.width, l.height = m.Format, m.Width, m.Height
	scale := float64(max(m.Width, m.Height)) / float64(l.size)
	l.cols = covering(m.Width, scale, l.size)
	l.rows = covering(m.Height, scale, l.size)
	l.mapped = Mapping{Scale: scale, OffsetX: float64((l.size - l.cols) / 2), OffsetY: float64((l.size - l.rows) / 2)}
	l.shrink = nil
	if scale >= 1 {
		l.shrink = newShrinker(m, l.cols, l.rows, scale)
	}
}

// covering is how many input pixels a side needs; a rounding error of the division adds none.
func covering(side int, scale float64, size int) int {
	return max(1, min(size, int(math.Ceil(float64(side)/scale-1e-6))))
}

// enlarge reads row y of the picture, bilinear.
func (l *Letterboxer) enlarge(m Image) func(dst []int32, y int) {
	from, step := newSampler(m), l.mapped.Scale
	return func(dst []int32, y int) {
		from.sample(dst, lineFrom(0.5*step, (float64(y)+0.5)*step, step, 0))
	}
}

// bars blackens what the picture does not cover.
func (l *Letterboxer) bars(dst []float32) {
	top, left := int(l.mapped.OffsetY)*l.size*3, int(l.mapped.OffsetX)*3
	bottom := top + l.rows*l.size*3
	fill(dst[:top], l.norm.Bias)
	fill(dst[bottom:], l.norm.Bias)
	if l.cols == l.size {
		return
	}
	for at := top; at < bottom; at += 3 * l.size {
		fill(dst[at:at+left], l.norm.Bias)
		fill(dst[at+left+3*l.cols:at+3*l.size], l.norm.Bias)
	}
}

func fill(dst []float32, v float32) {
	for i := range dst {
		dst[i] = v
	}
}
