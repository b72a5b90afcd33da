package vision

import "encoding/binary"

type bgrSampler struct {
	w, h int
	pix  []byte
}

func (s *bgrSampler) sample(dst []int32, l line) {
	// One load of eight bytes covers two pixels and two bytes more: at the right border it could leave the frame.
	a, b := l.inside(len(dst)/3, s.w, s.h, 1)
	l.clamped(dst[:3*a], s.w, s.h, s.tap)
	s.interior(dst[3*a:3*b], l.at(a))
	l.at(b).clamped(dst[3*b:], s.w, s.h, s.tap)
}

func (s *bgrSampler) interior(dst []int32, l line) {
	pix, stride := s.pix, 3*s.w
	u, v := l.u, l.v
	for i := 0; i <= len(dst)-3; i += 3 {
		o := int(v>>32)*stride + 3*int(u>>32)
		wt, wl := bilinearPairs(u, v)
		top := binary.LittleEndian.Uint64(pix[o:])
		low := binary.LittleEndian.Uint64(pix[o+stride:])
		d := (*[3]int32)(dst[i:])
		d[0] = tapSum(top&tapPair*wt + low&tapPair*wl)
		d[1] = tapSum(top>>8&tapPair*wt + low>>8&tapPair*wl)
		d[2] = tapSum(top>>16&tapPair*wt + low>>16&tapPair*wl)
		u += l.du
		v += l.dv
	}
}

func (s *bgrSampler) tap(x, y int) [3]int32 {
	p := s.pix[3*(y*s.w+x):]
	return [3]int32{int32(p[0]), int32(p[1]), int32(p[2])}
}
