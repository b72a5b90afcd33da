package source

// BT.601 limited range, in 16.16 fixed point: Y 16…235, U and V 16…240 around 128.

func lumaOf(b, g, r int) byte {
	return byte((6416*b + 33039*g + 16829*r + 16<<16 + 1<<15) >> 16)
}

func chromaOf(b, g, r int) (u, v byte) {
	return byte((28784*b - 19071*g - 9714*r + 128<<16 + 1<<15) >> 16),
		byte((28784*r - 24103*g - 4681*b + 128<<16 + 1<<15) >> 16)
}

func bgrOf(y, u, v byte) (b, g, r byte) {
	l := 76309 * (int(y) - 16)
	d, e := int(u)-128, int(v)-128
	return clamp8((l + 132201*d + 1<<15) >> 16), clamp8((l - 25675*d - 53279*e + 1<<15) >> 16), clamp8((l + 104597*e + 1<<15) >> 16)
}

func clamp8(v int) byte { return byte(min(max(v, 0), 255)) }

// rangeTables maps full-range samples to limited range.
func rangeTables() (luma, chroma [256]byte) {
	for i := range 256 {
		luma[i] = byte(16 + (219*i+127)/255)
		chroma[i] = clamp8(128 + (224*(i-128)+sign(i-128)*127)/255)
	}
	return luma, chroma
}

func sign(v int) int {
	if v < 0 {
		return -1
	}
	return 1
}

// convertRect converts the pixels [x0,x1)×[y0,y1) of a BGR frame into dst of the given format. The bounds are even.
func convertRect(dst, bgr []byte, format string, w, h, x0, y0, x1, y1 int) {
	switch format {
	case BGR:
		for y := y0; y < y1; y++ {
			copy(dst[3*(y*w+x0):3*(y*w+x1)], bgr[3*(y*w+x0):])
		}
	case NV12:
		rectToNV12(dst, bgr, w, h, x0, y0, x1, y1)
	case YUYV:
		rectToYUYV(dst, bgr, w, x0, y0, x1, y1)
	}
}

func rectToNV12(dst, bgr []byte, w, h, x0, y0, x1, y1 int) {
	uv := dst[w*h:]
	for y := y0; y < y1; y += 2 {
		for x := x0; x < x1; x += 2 {
			var b, g, r int
			for _, p := range [4]int{y*w + x, y*w + x + 1, (y+1)*w + x, (y+1)*w + x + 1} {
				pb, pg, pr := int(bgr[3*p]), int(bgr[3*p+1]), int(bgr[3*p+2])
				dst[p] = lumaOf(pb, pg, pr)
				b, g, r = b+pb, g+pg, r+pr
			}
			o := y/2*w + x
			uv[o], uv[o+1] = chromaOf((b+2)/4, (g+2)/4, (r+2)/4)
		}
	}
}

func rectToYUYV(dst, bgr []byte, w, x0, y0, x1, y1 int) {
	for y := y0; y < y1; y++ {
		for x := x0; x < x1; x += 2 {
			p := y*w + x
			b0, g0, r0 := int(bgr[3*p]), int(bgr[3*p+1]), int(bgr[3*p+2])
			b1, g1, r1 := int(bgr[3*p+3]), int(bgr[3*p+4]), int(bgr[3*p+5])
			dst[2*p], dst[2*p+2] = lumaOf(b0, g0, r0), lumaOf(b1, g1, r1)
			dst[2*p+1], dst[2*p+3] = chromaOf((b0+b1+1)/2, (g0+g1+1)/2, (r0+r1+1)/2)
		}
	}
}
