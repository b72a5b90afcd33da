package source

import "math"

// Colours of a drawn face, BGR.
var (
	synthSkin = [3]float64{40, 40, 220}
	synthDark = [3]float64{20, 16, 30}
)

// painter draws into a BGR frame with antialiased edges.
type painter struct {
	pix  []byte
	w, h int
}

// background is a grey-blue gradient with fixed grain. Red never exceeds green or blue, so that only faces are red.
func (p painter) background() {
	grain := splitMix(7)
	for y := range p.h {
		for x := range p.w {
			g := 90 + 40*float64(x)/float64(p.w) + 30*float64(y)/float64(p.h) + 12*grain.unit()
			o := 3 * (y*p.w + x)
			p.pix[o], p.pix[o+1], p.pix[o+2] = byte(g+20), byte(g+5), byte(g-10)
		}
	}
}

func (p painter) face(f FaceTruth) {
	p.disc(f.CX, f.CY, f.Size/2, synthSkin)
	p.disc(f.RightEye[0], f.RightEye[1], 0.06*f.Size, synthDark)
	p.disc(f.LeftEye[0], f.LeftEye[1], 0.06*f.Size, synthDark)
	p.bar(f.Mouth[0], f.Mouth[1], 0.18*f.Size, 0.025*f.Size, synthDark)
}

// disc fills the rows of a disc; only the pixels of its rim need a square root.
func (p painter) disc(cx, cy, r float64, c [3]float64) {
	for y := max(0, int(cy-r-1)); y < min(p.h, int(cy+r)+2); y++ {
		dy := float64(y) + 0.5 - cy
		solid, rim := halfChord(r-0.5, dy), halfChord(r+0.5, dy)
		for x := max(0, int(cx-rim-1)); x < min(p.w, int(cx+rim)+2); x++ {
			dx := float64(x) + 0.5 - cx
			if math.Abs(dx) < solid {
				p.blend(x, y, c, 1)
				continue
			}
			p.blend(x, y, c, r-math.Sqrt(dx*dx+dy*dy)+0.5)
		}
	}
}

// halfChord is half the width of a circle of radius r at height dy above its centre.
func halfChord(r, dy float64) float64 { return math.Sqrt(max(r*r-dy*dy, 0)) }

// bar is a horizontal line with half length a and half thickness b.
func (p painter) bar(cx, cy, a, b float64, c [3]float64) {
	for y := max(0, int(cy-b-1)); y < min(p.h, int(cy+b)+2); y++ {
		for x := max(0, int(cx-a-1)); x < min(p.w, int(cx+a)+2); x++ {
			dx, dy := math.Abs(float64(x)+0.5-cx), math.Abs(float64(y)+0.5-cy)
			p.blend(x, y, c, min(a-dx, b-dy)+0.5)
		}
	}
}

// blend mixes colour c into a pixel, which it covers by cover (clamped to 0…1).
func (p painter) blend(x, y int, c [3]float64, cover float64) {
	px := p.pix[3*(y*p.w+x):][:3]
	switch {
	case cover >= 1:
		px[0], px[1], px[2] = byte(c[0]), byte(c[1]), byte(c[2])
	case cover > 0:
		for i := range px {
			px[i] = byte(math.Round(float64(px[i])*(1-cover) + c[i]*cover))
		}
	}
}

// Marker: 32 cells of 4×4 px in the top left corner hold the frame index, most significant bit first; white is one.
const (
	markerBits = 32
	markerCell = 4
)

func (p painter) marker(index uint32) {
	for bit := range markerBits {
		v := byte(0)
		if index>>(markerBits-1-bit)&1 == 1 {
			v = 255
		}
		for y := range markerCell {
			o := 3 * (y*p.w + bit*markerCell)
			for i := range 3 * markerCell {
				p.pix[o+i] = v
			}
		}
	}
}
