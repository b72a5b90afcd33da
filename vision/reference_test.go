package vision

import (
	"math"
	"math/rand/v2"
)

// This file holds slow, obvious float64 versions of what the package computes in fixed point.

// randomImage has smooth or noisy content, depending on step: each pixel differs from its neighbour by up to step.
func randomImage(f Format, w, h int, seed uint64) Image {
	n, err := FrameBytes(f, w, h)
	if err != nil {
		panic(err)
	}
	rng := rand.New(rand.NewPCG(seed, 7))
	m := Image{Format: f, Width: w, Height: h, Pix: make([]byte, n)}
	for i := range m.Pix {
		m.Pix[i] = byte(90 + rng.IntN(60)) // in YUV this stays clear of the RGB cube's faces
	}
	return m
}

// refPixel is the RGB value 0..255 of one pixel, the position clamped to the frame.
func refPixel(m Image, x, y int) [3]float64 {
	x, y = max(0, min(x, m.Width-1)), max(0, min(y, m.Height-1))
	var luma, cb, cr float64
	switch m.Format {
	case BGR:
		p := m.Pix[3*(y*m.Width+x):]
		return [3]float64{float64(p[2]), float64(p[1]), float64(p[0])}
	case NV12:
		luma = float64(m.Pix[y*m.Width+x])
		p := m.Pix[m.Width*m.Height+(y/2)*m.Width+x/2*2:]
		cb, cr = float64(p[0]), float64(p[1])
	case YUYV:
		p := m.Pix[2*y*m.Width+x/2*4:]
		luma, cb, cr = float64(p[x%2*2]), float64(p[1]), float64(p[3])
	}
	return refRGB(luma, cb, cr)
}

// refRGB derives BT.601 from its luma weights instead of the usual table of factors.
func refRGB(luma, cb, cr float64) [3]float64 {
	const kr, kb = 0.299, 0.114
	y := (luma - 16) / 219
	b := y + 2*(1-kb)*(cb-128)/224
	r := y + 2*(1-kr)*(cr-128)/224
	g := (y - kr*r - kb*b) / (1 - kr - kb)
	out := [3]float64{255 * r, 255 * g, 255 * b}
	for i, v := range out {
		out[i] = math.Max(0, math.Min(255, v))
	}
	return out
}

// refBilinear samples at a continuous position.
func refBilinear(m Image, x, y float64) [3]float64 {
	x, y = x-0.5, y-0.5
	ix, iy := math.Floor(x), math.Floor(y)
	fx, fy := x-ix, y-iy
	var out [3]float64
	for _, t := range []struct {
		dx, dy int
		w      float64
	}{{0, 0, (1 - fx) * (1 - fy)}, {1, 0, fx * (1 - fy)}, {0, 1, (1 - fx) * fy}, {1, 1, fx * fy}} {
		p := refPixel(m, int(ix)+t.dx, int(iy)+t.dy)
		for c := range out {
			out[c] += t.w * p[c]
		}
	}
	return out
}

// refBox averages the frame over [x0, x1) × [y0, y1), clipped to the frame.
func refBox(m Image, x0, y0, x1, y1 float64) [3]float64 {
	x1, y1 = math.Min(x1, float64(m.Width)), math.Min(y1, float64(m.Height))
	var out [3]float64
	area := (x1 - x0) * (y1 - y0)
	for y := int(y0); float64(y) < y1; y++ {
		h := math.Min(y1, float64(y+1)) - math.Max(y0, float64(y))
		for x := int(x0); float64(x) < x1; x++ {
			w := math.Min(x1, float64(x+1)) - math.Max(x0, float64(x))
			p := refPixel(m, x, y)
			for c := range out {
				out[c] += p[c] * w * h / area
			}
		}
	}
	return out
}

// paint makes a frame of the given format from an RGB function of the continuous position of pixel centres;
// chroma of a block is that of its mean.
func paint(f Format, w, h int, rgb func(x, y float64) [3]float64) Image {
	n, err := FrameBytes(f, w, h)
	if err != nil {
		panic(err)
	}
	m := Image{Format: f, Width: w, Height: h, Pix: make([]byte, n)}
	at := func(x, y int) [3]float64 { return rgb(float64(x)+0.5, float64(y)+0.5) }
	for y := range h {
		for x := range w {
			luma, _, _ := toYCbCr(at(x, y))
			switch f {
			case BGR:
				p := at(x, y)
				for c := range 3 {
					m.Pix[3*(y*w+x)+c] = toByte(p[2-c])
				}
			case NV12:
				m.Pix[y*w+x] = toByte(luma)
				if x%2 == 0 && y%2 == 0 {
					_, cb, cr := toYCbCr(rgb(float64(x)+1, float64(y)+1))
					o := w*h + y/2*w + x
					m.Pix[o], m.Pix[o+1] = toByte(cb), toByte(cr)
				}
			case YUYV:
				o := 2*y*w + 2*x
				m.Pix[o] = toByte(luma)
				if x%2 == 0 {
					_, cb, cr := toYCbCr(rgb(float64(x)+1, float64(y)+0.5))
					m.Pix[o+1], m.Pix[o+3] = toByte(cb), toByte(cr)
				}
			}
		}
	}
	return m
}

func toYCbCr(p [3]float64) (luma, cb, cr float64) {
	y := 0.299*p[0] + 0.587*p[1] + 0.114*p[2]
	return 16 + y*219/255, 128 + (p[2]-y)/1.772*224/255, 128 + (p[0]-y)/1.402*224/255
}

func toByte(v float64) byte { return byte(math.Max(0, math.Min(255, math.Round(v)))) }
