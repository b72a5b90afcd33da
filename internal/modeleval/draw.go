package modeleval

import (
	"image"
	"image/color"
	"math"

	"golang.org/x/image/draw"

	"facetrack/vision"
)

// Colours of the sheets.
var (
	theirColour = color.RGBA{255, 200, 0, 255} // the reference
	ourColour   = color.RGBA{0, 255, 200, 255}
	backColour  = color.RGBA{24, 24, 24, 255}
)

// view is a part of a frame, drawn as a tile of a sheet; what is marked in it has pixels of the frame.
type view struct {
	img  *image.RGBA
	at   image.Rectangle // in the sheet
	from vision.Box      // in the frame
}

// picture is a BGR frame's copy.
func picture(m vision.Image) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, m.Width, m.Height))
	for i := range m.Width * m.Height {
		img.Pix[4*i], img.Pix[4*i+1], img.Pix[4*i+2], img.Pix[4*i+3] = m.Pix[3*i+2], m.Pix[3*i+1], m.Pix[3*i], 255
	}
	return img
}

func newView(sheet *image.RGBA, at image.Rectangle, frame *image.RGBA, from vision.Box) view {
	part := image.Rect(int(from[0]), int(from[1]), int(from[0]+from[2]), int(from[1]+from[3])).Intersect(frame.Bounds())
	v := view{sheet, at, from}
	x0, y0 := v.place(float64(part.Min.X), float64(part.Min.Y))
	x1, y1 := v.place(float64(part.Max.X), float64(part.Max.Y))
	draw.ApproxBiLinear.Scale(sheet.SubImage(at).(draw.Image), image.Rect(int(x0), int(y0), int(x1), int(y1)), frame, part, draw.Src, nil)
	return v
}

// place leads from the frame to the sheet.
func (v view) place(x, y float64) (float64, float64) {
	return float64(v.at.Min.X) + (x-v.from[0])/v.from[2]*float64(v.at.Dx()), float64(v.at.Min.Y) + (y-v.from[1])/v.from[3]*float64(v.at.Dy())
}

func (v view) fill(r image.Rectangle, c color.RGBA) {
	draw.Draw(v.img, r.Intersect(v.at), image.NewUniform(c), image.Point{}, draw.Src)
}

// frame draws a box's outline.
func (v view) frame(b vision.Box, c color.RGBA) {
	fx, fy := v.place(b[0], b[1])
	tx, ty := v.place(b[0]+b[2], b[1]+b[3])
	r := image.Rect(int(fx), int(fy), int(tx), int(ty))
	const line = 2
	v.fill(image.Rect(r.Min.X, r.Min.Y, r.Max.X, r.Min.Y+line), c)
	v.fill(image.Rect(r.Min.X, r.Max.Y-line, r.Max.X, r.Max.Y), c)
	v.fill(image.Rect(r.Min.X, r.Min.Y, r.Min.X+line, r.Max.Y), c)
	v.fill(image.Rect(r.Max.X-line, r.Min.Y, r.Max.X, r.Max.Y), c)
}

func (v view) dots(m *marks, c color.RGBA) {
	r := max(1, v.at.Dy()/200)
	for _, p := range m {
		x, y := v.place(p[0], p[1])
		at := image.Pt(int(math.Round(x)), int(math.Round(y)))
		v.fill(image.Rect(at.X-r, at.Y-r, at.X+r+1, at.Y+r+1), c)
	}
}
