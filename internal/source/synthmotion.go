package source

import "math"

// FaceTruth is where a drawn face is, in pixels of the frame: origin top left, pixel centres at half-integers.
type FaceTruth struct {
	ID                       int        // index of the face, constant over the clip
	CX, CY, Size             float64    // centre and diameter of the disc
	RightEye, LeftEye, Mouth [2]float64 // the subject's right eye is on the left of the picture
}

// synthMargin keeps faces off the border and off the marker strip, in pixels.
const synthMargin = 8

// SyntheticTruth returns the faces of a frame, lowest index first. Parameters come from ParseSynthetic.
func SyntheticTruth(p SyntheticParams, frame int64) []FaceTruth {
	faces := make([]FaceTruth, p.Faces)
	for i := range faces {
		cx, cy := p.centre(i, float64(frame)/p.FPS)
		d := p.Diameter
		faces[i] = FaceTruth{ID: i, CX: cx, CY: cy, Size: d,
			RightEye: [2]float64{cx - 0.18*d, cy - 0.12*d},
			LeftEye:  [2]float64{cx + 0.18*d, cy - 0.12*d},
			Mouth:    [2]float64{cx, cy + 0.2*d}}
	}
	return faces
}

// grid returns how many columns and rows of cells hold the faces, as square as the frame allows.
func (p *SyntheticParams) grid() (cols, rows int) {
	if p.Cross || p.Faces < 2 {
		return 1, 1
	}
	best := 0.0
	for c := 1; c <= p.Faces; c++ {
		r := (p.Faces + c - 1) / c
		side := min(p.roomX()/float64(c), p.roomY()/float64(r))
		if side > best {
			best, cols, rows = side, c, r
		}
	}
	return cols, rows
}

func (p *SyntheticParams) roomX() float64 { return float64(p.Width) - 2*synthMargin }
func (p *SyntheticParams) roomY() float64 { return float64(p.Height) - 2*synthMargin }

// cell returns the size of the part of the frame that a face keeps to itself.
func (p *SyntheticParams) cell() (w, h float64) {
	cols, rows := p.grid()
	return p.roomX() / float64(cols), p.roomY() / float64(rows)
}

// centre is a Lissajous figure inside the face's cell: it never leaves it, so that faces cannot meet.
func (p *SyntheticParams) centre(i int, seconds float64) (x, y float64) {
	cols, _ := p.grid()
	w, h := p.cell()
	col, row := 0, 0
	if !p.Cross {
		col, row = i%cols, i/cols
	}
	r := newSplitMix(p.Seed, i)
	fx, fy := 0.10+0.08*r.unit(), 0.13+0.08*r.unit() // turns per second
	px, py := r.unit(), r.unit()
	x = synthMargin + (float64(col)+0.5)*w + (w-p.Diameter)/2*math.Sin(2*math.Pi*(fx*seconds+px))
	y = synthMargin + (float64(row)+0.5)*h + (h-p.Diameter)/2*math.Sin(2*math.Pi*(fy*seconds+py))
	return x, y
}

// splitMix is a small generator whose values are part of the clip's definition.
type splitMix uint64

func newSplitMix(seed uint64, face int) *splitMix {
	s := splitMix(seed*0x9E3779B97F4A7C15 + uint64(face)*0xD1B54A32D192ED03)
	return &s
}

// unit returns the next value in [0, 1).
func (s *splitMix) unit() float64 {
	*s += 0x9E3779B97F4A7C15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return float64((z^z>>31)>>11) / (1 << 53)
}
