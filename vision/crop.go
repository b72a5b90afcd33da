package vision

import (
	"fmt"
	"math"
)

// lineFrom starts a line at the continuous frame position (x, y). Samplers cut positions to 1/256 px; half
// of that makes them round.
func lineFrom(x, y, dx, dy float64) line {
	const round = 1.0 / 512
	return line{u: fixed(x - 0.5 + round), v: fixed(y - 0.5 + round), du: fixed(dx), dv: fixed(dy)}
}

// Cropper cuts rotated regions out of frames: rotation, scaling, colour conversion and normalisation in one
// pass. Each input pixel is one bilinear sample, or the mean of 2×2 when the region is more than twice
// the size of the input. It is used by one goroutine at a time.
type Cropper struct {
	size int
	norm Normalization
	line []int32 // two rows of twice the size: 2×2 samples a pixel
}

// NewCropper makes inputs of size × size pixels.
func NewCropper(size int, norm Normalization) (*Cropper, error) {
	if size < 1 || size > maxSide {
		return nil, fmt.Errorf("%w: crop of %d pixels; use 1 to %d", ErrROI, size, maxSide)
	}
	return &Cropper{size: size, norm: norm, line: make([]int32, 3*4*size)}, nil
}

// Fill writes size × size × 3 floats into dst. The centre of input pixel (i, j) shows the frame at
// r.Frame((i+0.5)/size, (j+0.5)/size); outside the frame the nearest border pixel is repeated.
func (c *Cropper) Fill(dst []float32, m Image, r ROI) error {
	if err := m.Validate(); err != nil {
		return err
	}
	if err := r.Validate(); err != nil {
		return err
	}
	if len(dst) != c.size*c.size*3 {
		return fmt.Errorf("%w: crop input has %d floats; %d×%d needs %d", ErrROI, len(dst), c.size, c.size, c.size*c.size*3)
	}
	out := emitter{norm: c.norm, yuv: m.Format != BGR}
	from := newSampler(m)
	read, rows := c.single, r.rows(c.size)
	if r.double(c.size) {
		read, rows = c.double, r.rows(2*c.size)
	}
	for y := range c.size {
		out.emit(dst[3*c.size*y:3*c.size*(y+1)], read(from, rows, y))
	}
	return nil
}

func (c *Cropper) single(from sampler, rows rowLines, y int) []int32 {
	row := c.line[:3*c.size]
	from.sample(row, rows.at(y))
	return row
}

// double reads two rows at twice the resolution and averages blocks of 2×2 samples in place.
func (c *Cropper) double(from sampler, rows rowLines, y int) []int32 {
	n := 3 * 2 * c.size
	top, low := c.line[:n], c.line[n:2*n]
	from.sample(top, rows.at(2*y))
	from.sample(low, rows.at(2*y+1))
	for i, o := 0, 0; i < n/2; i, o = i+3, o+6 {
		a, b := (*[6]int32)(top[o:]), (*[6]int32)(low[o:])
		d := (*[3]int32)(top[i:])
		d[0], d[1], d[2] = (a[0]+a[3]+b[0]+b[3])>>2, (a[1]+a[4]+b[1]+b[4])>>2, (a[2]+a[5]+b[2]+b[5])>>2
	}
	return top[:n/2]
}

// rowLines are the sample positions of all rows of a region.
type rowLines struct {
	x, y, dx, dy float64 // first sample of row 0 and step along a row; a row further is (−dy, dx)
}

func (r ROI) rows(n int) rowLines {
	x, y := r.Frame(0.5/float64(n), 0.5/float64(n))
	sin, cos := math.Sincos(r.Rotation)
	step := r.Size / float64(n)
	return rowLines{x: x, y: y, dx: step * cos, dy: step * sin}
}

func (r rowLines) at(row int) line {
	k := float64(row)
	return lineFrom(r.x-k*r.dy, r.y+k*r.dx, r.dx, r.dy)
}

// double tells that a crop of size × size pixels takes 2×2 samples a pixel.
func (r ROI) double(size int) bool { return r.Size > 2*float64(size) }

// SampleGrid is where a Cropper samples a region: the first sample, in continuous coordinates of the frame, and
// the step to the next one of a row; a row further is (−DY, DX).
type SampleGrid struct {
	X, Y, DX, DY float64
	Double       bool // 2×2 samples for each pixel of the input
}

// SampleGrid is for those who crop elsewhere, to inputs of size × size pixels.
func (r ROI) SampleGrid(size int) SampleGrid {
	double := r.double(size)
	if double {
		size *= 2
	}
	l := r.rows(size)
	return SampleGrid{X: l.x, Y: l.y, DX: l.dx, DY: l.dy, Double: double}
}
