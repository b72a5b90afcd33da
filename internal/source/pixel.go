package source

import (
	"fmt"
	"image"
	"image/draw"
)

// maxPixels bounds what a header may ask for: 64 megapixels hold any camera and stop a forged header.
const maxPixels = 64 << 20

func frameBytes(format string, w, h int) int {
	switch format {
	case BGR:
		return 3 * w * h
	case NV12:
		return w * h * 3 / 2
	case YUYV:
		return 2 * w * h
	}
	return 0
}

// checkSize refuses sizes that no frame has.
func checkSize(name string, w, h int) error {
	if w <= 0 || h <= 0 || w > maxPixels/h {
		return fmt.Errorf("%w: %s: size %d×%d is outside 1 to %d pixels", ErrCorrupt, name, w, h, maxPixels)
	}
	return nil
}

func checkBuffer(dst []byte, info Info) error {
	if want := info.FrameBytes(); len(dst) != want {
		return fmt.Errorf("%w: %d bytes given, a %s frame has %d", ErrBuffer, len(dst), info.geometry(), want)
	}
	return nil
}

// canvas converts decoded pictures to BGR over black. It is kept between frames to save allocations.
type canvas struct{ rgba *image.RGBA }

func (c *canvas) bgr(dst []byte, img image.Image) {
	b := img.Bounds()
	if c.rgba == nil || c.rgba.Rect.Dx() != b.Dx() || c.rgba.Rect.Dy() != b.Dy() {
		c.rgba = image.NewRGBA(image.Rect(0, 0, b.Dx(), b.Dy()))
	}
	draw.Draw(c.rgba, c.rgba.Rect, img, b.Min, draw.Src)
	pix := c.rgba.Pix
	for i, o := 0, 0; i+3 < len(pix) && o+2 < len(dst); i, o = i+4, o+3 {
		dst[o], dst[o+1], dst[o+2] = pix[i+2], pix[i+1], pix[i]
	}
}
