package goldentest

import (
	"bytes"
	"image"
	"image/draw"
	"image/gif"
	_ "image/png"
	"testing"
)

func decodeImage(t *testing.T, data []byte) *image.RGBA {
	t.Helper()
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return toRGBA(img)
}

// gifFrame is the first frame of an animation.
func gifFrame(t *testing.T, data []byte) *image.RGBA {
	t.Helper()
	img, err := gif.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return toRGBA(img)
}

func toRGBA(img image.Image) *image.RGBA {
	out := image.NewRGBA(image.Rect(0, 0, img.Bounds().Dx(), img.Bounds().Dy()))
	draw.Draw(out, out.Bounds(), img, img.Bounds().Min, draw.Src)
	return out
}

// letterbox scales an image bilinearly into the top left of a size×size RGB image in 0..255; the rest is black.
func letterbox(img *image.RGBA, size int) []float32 {
	b := img.Bounds()
	scale := float64(max(b.Dx(), b.Dy())) / float64(size)
	out := make([]float32, size*size*3)
	for y := range size {
		for x := range size {
			sx, sy := (float64(x)+0.5)*scale-0.5, (float64(y)+0.5)*scale-0.5
			if sx > float64(b.Dx())-0.5 || sy > float64(b.Dy())-0.5 {
				continue
			}
			rgb := bilinear(img, sx, sy)
			copy(out[(y*size+x)*3:], rgb[:])
		}
	}
	return out
}

func bilinear(img *image.RGBA, x, y float64) (rgb [3]float32) {
	b := img.Bounds()
	x, y = max(x, 0), max(y, 0)
	x0, y0 := int(x), int(y)
	fx, fy := x-float64(x0), y-float64(y0)
	for k := range 4 {
		dx, dy := k&1, k>>1
		weight := (1 - fx + float64(dx)*(2*fx-1)) * (1 - fy + float64(dy)*(2*fy-1))
		px, py := min(x0+dx, b.Dx()-1), min(y0+dy, b.Dy()-1)
		for c, v := range img.Pix[img.PixOffset(px, py):][:3] {
			rgb[c] += float32(weight * float64(v))
		}
	}
	return rgb
}

func swapRedBlue(rgb []float32) []float32 {
	for i := 0; i < len(rgb); i += 3 {
		rgb[i], rgb[i+2] = rgb[i+2], rgb[i]
	}
	return rgb
}
