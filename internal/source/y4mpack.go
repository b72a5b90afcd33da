package source

// y4mPacker turns planar samples into one of the three pixel formats.
type y4mPacker struct {
	head         y4mHeader
	luma, chroma [256]byte // maps samples to limited range; identity unless the file is full range
}

func newY4MPacker(h y4mHeader) *y4mPacker {
	p := &y4mPacker{head: h}
	if h.fullRange {
		p.luma, p.chroma = rangeTables()
		return p
	}
	for i := range 256 {
		p.luma[i], p.chroma[i] = byte(i), byte(i)
	}
	return p
}

func (p *y4mPacker) pack(dst, planar []byte, format string) {
	nl, nc := p.head.planes()
	y, u, v := planar[:nl], planar[nl:nl+nc], planar[nl+nc:]
	switch format {
	case NV12:
		p.nv12(dst, y, u, v)
	case YUYV:
		p.yuyv(dst, y, u, v)
	default:
		p.bgr(dst, y, u, v)
	}
}

func (p *y4mPacker) nv12(dst, y, u, v []byte) {
	p.copyLuma(dst[:len(y)], y)
	uv := dst[len(y):]
	if len(u) == 0 {
		for i := range uv {
			uv[i] = 128
		}
		return
	}
	for i := range u {
		uv[2*i], uv[2*i+1] = p.chroma[u[i]], p.chroma[v[i]]
	}
}

func (p *y4mPacker) copyLuma(dst, y []byte) {
	if !p.head.fullRange {
		copy(dst, y)
		return
	}
	for i, s := range y {
		dst[i] = p.luma[s]
	}
}

func (p *y4mPacker) yuyv(dst, y, u, v []byte) {
	for i := range u {
		d := dst[4*i : 4*i+4]
		d[0], d[1] = p.luma[y[2*i]], p.chroma[u[i]]
		d[2], d[3] = p.luma[y[2*i+1]], p.chroma[v[i]]
	}
}

// bgr takes the nearest chroma sample of each pixel.
func (p *y4mPacker) bgr(dst, y, u, v []byte) {
	w, c := p.head.width, p.head.chroma
	for i := range y {
		cu, cv := byte(128), byte(128)
		if c.subX > 0 {
			j := i/w/c.subY*((w+c.subX-1)/c.subX) + i%w/c.subX
			cu, cv = p.chroma[u[j]], p.chroma[v[j]]
		}
		dst[3*i], dst[3*i+1], dst[3*i+2] = bgrOf(p.luma[y[i]], cu, cv)
	}
}
