package source

import (
	"image"
)

// gifScreen is the logical screen of a GIF in BGR. Pixels nobody drew, and cleared ones, are black.
type gifScreen struct {
	width, height int
	pix           []byte
	saved         []byte // screen before the last frame, when that asked to be undone
	last          image.Rectangle
	disposal      byte
}

func newGIFScreen(w, h int) *gifScreen {
	return &gifScreen{width: w, height: h, pix: make([]byte, 3*w*h)}
}

// add disposes of the frame before and draws img over what is left.
func (s *gifScreen) add(img *image.Paletted, disposal byte) {
	s.dispose()
	if disposal == disposePrevious {
		s.saved = append(s.saved[:0], s.pix...)
	}
	s.last = img.Rect.Intersect(image.Rect(0, 0, s.width, s.height))
	s.disposal = disposal
	s.draw(img)
}

func (s *gifScreen) dispose() {
	switch s.disposal {
	case disposeBackground:
		for y := s.last.Min.Y; y < s.last.Max.Y; y++ {
			clear(s.pix[3*(y*s.width+s.last.Min.X) : 3*(y*s.width+s.last.Max.X)])
		}
	case disposePrevious:
		copy(s.pix, s.saved)
	}
}

func (s *gifScreen) draw(img *image.Paletted) {
	var bgr [256][3]byte
	var opaque [256]bool
	for i, c := range img.Palette {
		r, g, b, a := c.RGBA()
		bgr[i] = [3]byte{byte(b >> 8), byte(g >> 8), byte(r >> 8)}
		opaque[i] = a != 0
	}
	for y := s.last.Min.Y; y < s.last.Max.Y; y++ {
		row := img.Pix[img.PixOffset(s.last.Min.X, y):][:s.last.Dx()]
		dst := s.pix[3*(y*s.width+s.last.Min.X):]
		for x, p := range row {
			if opaque[p] {
				copy(dst[3*x:3*x+3], bgr[p][:])
			}
		}
	}
}
