package nn

import (
	"encoding/binary"
	"math"

	"facetrack/internal/half"
)

// ConvWeights are W [O][KH][KW][I] and the front's W [C][KH][KW]. A bias may be nil; slopes are for PRelu only.
type ConvWeights struct {
	W, Bias, Slope                []float32
	FrontW, FrontBias, FrontSlope []float32
}

// zeroBytes stand in front of all constants: the kernels read them instead of what is outside an image.
const zeroBytes = 128

// layout is where the parts of a convolution's constants begin, in bytes: behind the zeros the weights, then bias and slope, as many as there are
// channels in whole groups of 32, then the front's own.
type layout struct{ bias, slope, front, end int }

func paddedChannels(c int) int { return (c + groupChannels - 1) / groupChannels * groupChannels }

func (c Conv) layout(p Precision) layout {
	n := paddedChannels(c.Out.C)
	l := layout{bias: zeroBytes + (c.k()+7)/8*8*n*p.Bytes()}
	l.slope = l.bias + 4*n
	l.front = l.slope
	if c.Act == PRelu {
		l.front += 4 * n
	}
	l.end = l.front
	if c.Front != nil {
		l.end += c.Front.constants()
	}
	return l
}

// PackConv makes the constants of a launch of Conv, in the order in which the kernel reads them.
func (s *Set) PackConv(p Precision, c Conv, w ConvWeights) ([]byte, error) {
	if err := c.shape(); err != nil {
		return nil, err
	}
	if err := counts(c.Out.C, c.k(), c.Act, w.W, w.Bias, w.Slope); err != nil {
		return nil, err
	}
	l := c.layout(p)
	out := make([]byte, zeroBytes, l.end)
	n, k := c.Out.C, c.k()
	weight := func(n0, k0 int) float32 {
		if n0 >= n || k0 >= k {
			return 0
		}
		return w.W[n0*k+k0]
	}
	for group := 0; group < paddedChannels(n); group += groupChannels {
		for first := 0; first < k; first += 8 {
			if p == F16 {
				out = packFragments(out, group, first, weight)
			} else {
				out = packRows(out, group, first, weight)
			}
		}
	}
	out = appendPadded(out, w.Bias, paddedChannels(n))
	if c.Act == PRelu {
		out = appendPadded(out, w.Slope, paddedChannels(n))
	}
	if c.Front == nil {
		return out, nil
	}
	return c.Front.pack(out, w.FrontW, w.FrontBias, w.FrontSlope)
}

// packFragments appends 8 × 32 weights as a warp's lanes take them for four multiplications: lane l has of each the rows l%4*2, +1 of column l/4,
// and the columns 2p, 2p+1 of number j are the channels 8p+2j, +1.
func packFragments(out []byte, group, first int, weight func(n, k int) float32) []byte {
	for lane := range 32 {
		column, row := lane/4, lane%4*2
		for j := range 4 {
			n := group + column/2*8 + 2*j + column%2
			out = half.Append(out, weight(n, first+row), weight(n, first+row+1))
		}
	}
	return out
}

// packRows appends 8 × 32 weights, channels side by side.
func packRows(out []byte, group, first int, weight func(n, k int) float32) []byte {
	for k := range 8 {
		for n := range groupChannels {
			out = appendFloat(out, weight(group+n, first+k))
		}
	}
	return out
}

// counts checks the lengths of n kernels of k weights each, their bias and slope.
func counts(n, k int, act Activation, w, bias, slope []float32) error {
	switch {
	case len(w) != n*k:
		return shapeError("%d weights, want %d × %d", len(w), n, k)
	case bias != nil && len(bias) != n:
		return shapeError("a bias of %d, want %d", len(bias), n)
	case act == PRelu && len(slope) != n:
		return shapeError("a slope of %d, want %d", len(slope), n)
	case act != PRelu && slope != nil:
		return shapeError("a slope without PRelu")
	}
	return nil
}

func appendFloat(out []byte, v float32) []byte {
	return binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
}

// appendPadded appends values and zeros, n in all.
func appendPadded(out []byte, values []float32, n int) []byte {
	for _, v := range values {
		out = appendFloat(out, v)
	}
	return append(out, make([]byte, 4*(n-len(values)))...)
}
