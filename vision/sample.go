package vision

// line is a straight run of sample positions in 32.32 fixed point, counted in pixel indices: the centre of
// pixel (i, j) is (i<<32, j<<32).
type line struct {
	u, v, du, dv int64
}

const fixedOne = 1 << 32

func fixed(x float64) int64 { return int64(x * fixedOne) }

// sampler reads bilinear samples along a line, three values each; outside the frame the border pixel is repeated.
type sampler interface {
	sample(dst []int32, l line)
}

// newSampler expects a valid image.
func newSampler(m Image) sampler {
	switch m.Format {
	case NV12:
		n := m.Width * m.Height
		return &nv12Sampler{w: m.Width, h: m.Height, luma: m.Pix[:n], chroma: m.Pix[n : n+n/2]}
	case YUYV:
		return &yuyvSampler{w: m.Width, h: m.Height, pix: m.Pix[:2*m.Width*m.Height]}
	default:
		return &bgrSampler{w: m.Width, h: m.Height, pix: m.Pix[:3*m.Width*m.Height]}
	}
}

// inside returns the samples [a, b) of n whose four taps lie in the frame. right columns at the right
// border are left out as well.
func (l line) inside(n, w, h, right int) (a, b int) {
	a, b = within(l.u, l.du, int64(w-1-right)<<32, n)
	c, d := within(l.v, l.dv, int64(h-1)<<32, n)
	a, b = max(a, c), min(b, d)
	if a >= b {
		return 0, 0
	}
	return a, b
}

// within returns the range of x in [0, n) with 0 ≤ p + x·step < end.
func within(p, step, end int64, n int) (a, b int) {
	if end <= 0 {
		return 0, 0
	}
	lo, hi := int64(0), int64(n)
	switch {
	case step == 0:
		if p < 0 || p >= end {
			return 0, 0
		}
	case step > 0:
		lo = max(lo, ceilDiv(-p, step))
		hi = min(hi, ceilDiv(end-p, step))
	default:
		lo = max(lo, ceilDiv(p-end+1, -step))
		hi = min(hi, ceilDiv(p+1, -step))
	}
	return int(lo), int(max(lo, hi))
}

func ceilDiv(a, b int64) int64 {
	q := a / b
	if a%b > 0 {
		q++
	}
	return q
}

// at moves the start of the line to sample x.
func (l line) at(x int) line {
	l.u += int64(x) * l.du
	l.v += int64(x) * l.dv
	return l
}

// clamped samples positions of which any tap may lie outside the frame.
func (l line) clamped(dst []int32, w, h int, tap func(x, y int) [3]int32) {
	for i := 0; i <= len(dst)-3; i += 3 {
		x, y := int(l.u>>32), int(l.v>>32)
		x0, x1 := clamp(x, w), clamp(x+1, w)
		y0, y1 := clamp(y, h), clamp(y+1, h)
		w00, w01, w10, w11 := bilinear(l.u, l.v)
		p00, p01, p10, p11 := tap(x0, y0), tap(x1, y0), tap(x0, y1), tap(x1, y1)
		for c := range 3 {
			dst[i+c] = int32(w00)*p00[c] + int32(w01)*p01[c] + int32(w10)*p10[c] + int32(w11)*p11[c]
		}
		l.u += l.du
		l.v += l.dv
	}
}

func clamp(i, n int) int { return max(0, min(i, n-1)) }
