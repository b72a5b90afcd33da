package vision

import "encoding/binary"

type nv12Sampler struct {
	w, h         int
	luma, chroma []byte
}

func (s *nv12Sampler) sample(dst []int32, l line) {
	// The load of two chroma pairs could leave the frame at the right border.
	a, b := l.inside(len(dst)/3, s.w, s.h, 2)
	l.clamped(dst[:3*a], s.w, s.h, s.tap)
	s.interior(dst[3*a:3*b], l.at(a))
	l.at(b).clamped(dst[3*b:], s.w, s.h, s.tap)
}

func (s *nv12Sampler) interior(dst []int32, l line) {
	luma, chroma, stride := s.luma, s.chroma, s.w
	u, v := l.u, l.v
	for i := 0; i <= len(dst)-3; i += 3 {
		x, y := int(u>>32), int(v>>32)
		o := y*stride + x
		top := uint64(binary.LittleEndian.Uint16(luma[o:]))
		low := uint64(binary.LittleEndian.Uint16(luma[o+stride:]))
		wt, wl := bilinearPairs(u, v)
		d := (*[3]int32)(dst[i:])
		d[0] = tapSum((top|top<<16)&tapPair*wt + (low|low<<16)&tapPair*wl)
		// Chroma changes only between two blocks: right of an odd column, below an odd row.
		o = y>>1*stride + x&^1
		top = uint64(binary.LittleEndian.Uint32(chroma[o:]))
		low = uint64(binary.LittleEndian.Uint32(chroma[o+y&1*stride:]))
		wt, wl = bilinearPairs(u&-int64(x&1), v&-int64(y&1))
		d[1] = tapSum(spread(top)*wt + spread(low)*wl)
		d[2] = tapSum(spread(top>>8)*wt + spread(low>>8)*wl)
		u += l.du
		v += l.dv
	}
}

// spread moves two values from 16 to 24 bits apart.
func spread(x uint64) uint64 {
	x &= 0xff00ff
	return (x | x<<8) & tapPair
}

func (s *nv12Sampler) tap(x, y int) [3]int32 {
	c := s.chroma[y>>1*s.w+x&^1:]
	return [3]int32{int32(s.luma[y*s.w+x]), int32(c[0]), int32(c[1])}
}

type yuyvSampler struct {
	w, h int
	pix  []byte
}

func (s *yuyvSampler) sample(dst []int32, l line) {
	// The load of two pairs could leave the frame at the right border.
	a, b := l.inside(len(dst)/3, s.w, s.h, 2)
	l.clamped(dst[:3*a], s.w, s.h, s.tap)
	s.interior(dst[3*a:3*b], l.at(a))
	l.at(b).clamped(dst[3*b:], s.w, s.h, s.tap)
}

func (s *yuyvSampler) interior(dst []int32, l line) {
	pix, stride := s.pix, 2*s.w
	u, v := l.u, l.v
	for i := 0; i <= len(dst)-3; i += 3 {
		x := int(u >> 32)
		o := int(v>>32)*stride + x>>1*4
		top := binary.LittleEndian.Uint64(pix[o:])
		low := binary.LittleEndian.Uint64(pix[o+stride:])
		wt, wl := bilinearPairs(u, v)
		d := (*[3]int32)(dst[i:])
		shift := uint64(x) & 1 * 16 // to Y0 or Y1 of the pair's bytes Y0 Cb Y1 Cr
		d[0] = tapSum(spread(top>>shift)*wt + spread(low>>shift)*wl)
		// Chroma changes only right of an odd column.
		wt, wl = bilinearPairs(u&-int64(x&1), v)
		d[1] = tapSum((top>>8&0xff|top>>16&(0xff<<24))*wt + (low>>8&0xff|low>>16&(0xff<<24))*wl)
		d[2] = tapSum((top>>24&0xff|top>>32&(0xff<<24))*wt + (low>>24&0xff|low>>32&(0xff<<24))*wl)
		u += l.du
		v += l.dv
	}
}

func (s *yuyvSampler) tap(x, y int) [3]int32 {
	p := s.pix[2*y*s.w+x>>1*4:]
	return [3]int32{int32(p[x&1*2]), int32(p[1]), int32(p[3])}
}
