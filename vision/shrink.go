package vision

import "encoding/binary"

// shrinker downscales frames of one geometry with a box filter: first whole rows, then along the row.
// Chroma is averaged on its own grid, which equals averaging pixels that share a chroma sample.
type shrinker struct {
	format             Format
	stride             int // bytes of a row, of the luma plane for NV12
	xs, ys             taps
	chromaXs, chromaYs taps
	row, chromaRow     []byte // one averaged source row, with spare bytes for wide loads
}

// newShrinker makes cols × rows output pixels of scale × scale source pixels each.
func newShrinker(m Image, cols, rows int, scale float64) *shrinker {
	s := &shrinker{format: m.Format, stride: m.Width}
	s.xs = newTaps(m.Width, cols, scale, one)
	s.ys = newTaps(m.Height, rows, scale, rowTotal)
	switch m.Format {
	case BGR:
		s.stride = 3 * m.Width
		s.xs = s.xs.paired()
	case NV12:
		s.chromaYs = newTaps(m.Height/2, rows, scale/2, rowTotal)
		s.chromaRow = make([]byte, m.Width)
	case YUYV:
		s.stride = 2 * m.Width
	}
	if m.Format != BGR {
		s.chromaXs = newTaps(m.Width/2, cols, scale/2, one)
	}
	s.row = make([]byte, s.stride+8)
	return s
}

// line writes output row y.
func (s *shrinker) line(dst []int32, m Image, y int) {
	blendRows(s.row[:s.stride], m.Pix, s.ys.first[y]*s.stride, s.ys.of(y))
	switch s.format {
	case NV12:
		luma := m.Width * m.Height
		blendRows(s.chromaRow, m.Pix, luma+s.chromaYs.first[y]*m.Width, s.chromaYs.of(y))
		shrinkChannel(dst, s.row, 1, s.xs)
		shrinkChannel(dst[1:], s.chromaRow, 2, s.chromaXs)
		shrinkChannel(dst[2:], s.chromaRow[1:], 2, s.chromaXs)
	case YUYV:
		shrinkChannel(dst, s.row, 2, s.xs)
		shrinkChannel(dst[1:], s.row[1:], 4, s.chromaXs)
		shrinkChannel(dst[2:], s.row[3:], 4, s.chromaXs)
	default:
		shrinkBGR(dst, s.row, s.xs)
	}
}

// shrinkBGR averages a row horizontally, two taps a multiplication. row is followed by at least 8 spare bytes.
func shrinkBGR(dst []int32, row []byte, t taps) {
	if t.count == 1 {
		halveBGR(dst, row, t)
		return
	}
	k, weights := t.count, t.weights
	for i, first := range t.first {
		o := 3 * first
		var c0, c1, c2 uint64
		for _, w := range weights[:k] {
			x := binary.LittleEndian.Uint64(row[o:])
			c0 += x & tapPair * w
			c1 += x >> 8 & tapPair * w
			c2 += x >> 16 & tapPair * w
			o += 6
		}
		weights = weights[k:]
		d := (*[3]int32)(dst[3*i:])
		d[0], d[1], d[2] = tapSum(c0), tapSum(c1), tapSum(c2)
	}
}

// halveBGR is shrinkBGR with a single pair of taps.
func halveBGR(dst []int32, row []byte, t taps) {
	weights := t.weights[:len(t.first)]
	for i, first := range t.first {
		w := weights[i]
		x := binary.LittleEndian.Uint64(row[3*first:])
		d := (*[3]int32)(dst[3*i:])
		d[0] = tapSum(x & tapPair * w)
		d[1] = tapSum(x >> 8 & tapPair * w)
		d[2] = tapSum(x >> 16 & tapPair * w)
	}
}

// shrinkChannel averages bytes that lie step apart into every third value of dst.
func shrinkChannel(dst []int32, row []byte, step int, t taps) {
	switch t.count {
	case 1:
		for i, first := range t.first {
			dst[3*i] = int32(row[step*first]) * one
		}
	case 2:
		weights := t.weights[:2*len(t.first)]
		for i, first := range t.first {
			o := step * first
			dst[3*i] = int32(uint64(row[o])*weights[2*i] + uint64(row[o+step])*weights[2*i+1])
		}
	default:
		shrinkWide(dst, row, step, t)
	}
}

func shrinkWide(dst []int32, row []byte, step int, t taps) {
	for i, first := range t.first {
		o := step * first
		sum := uint64(0)
		for _, w := range t.weights[i*t.count : (i+1)*t.count] {
			sum += uint64(row[o]) * w
			o += step
		}
		dst[3*i] = int32(sum)
	}
}
