package modeleval

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"slices"

	"golang.org/x/image/draw"

	"facetrack/vision"
)

const (
	moments  = 5   // rows of a sheet
	closeUps = 3   // faces of a row
	tile     = 256 // height of a row, px
	heaviest = 200_000
)

// drawing is what is drawn into one frame.
type drawing struct {
	theirs, ours         []vision.Box
	theirMarks, ourMarks []marks
}

// moment is a frame of a sheet.
type moment struct {
	frame *image.RGBA
	drawing
}

// sheet keeps moments spread evenly over a clip of any length.
type sheet struct {
	every, count int
	kept         []moment
}

func newSheet() *sheet { return &sheet{every: 1} }

func (s *sheet) add(m vision.Image, d drawing) {
	if s.count%s.every == 0 && m.Format == vision.BGR {
		s.kept = append(s.kept, moment{picture(m), d})
	}
	if s.count++; len(s.kept) < 4*moments {
		return
	}
	for i := range s.kept[:2*moments] {
		s.kept[i] = s.kept[2*i]
	}
	s.kept, s.every = slices.Delete(s.kept, 2*moments, len(s.kept)), 2*s.every
}

func (w *watcher) drawing(seen looked, reference, followed []vision.FaceResult) (d drawing) {
	for _, f := range above(seen.theirs, referenceScore) {
		d.theirs = append(d.theirs, f.Box)
	}
	for _, f := range above(seen.ours, w.threshold) {
		d.ours = append(d.ours, f.Box)
	}
	for _, f := range reference {
		d.theirMarks = append(d.theirMarks, marksOf(w.theirs.set, f.Points))
	}
	for _, f := range followed {
		d.ourMarks = append(d.ourMarks, marksOf(w.ours.set, f.Points))
	}
	return d
}

// chosen are the moments of the sheet.
func (s *sheet) chosen() (out []moment) {
	n := min(moments, len(s.kept))
	for i := range n {
		out = append(out, s.kept[(2*i+1)*len(s.kept)/(2*n)])
	}
	return out
}

// draw makes the sheet: a row for each moment, the frame with boxes, then its largest faces with points.
func (s *sheet) draw() *image.RGBA {
	rows := s.chosen()
	if len(rows) == 0 {
		return nil
	}
	height := tile
	if len(rows) == 1 {
		height = 2 * tile
	}
	size := rows[0].frame.Bounds()
	wide, faces := height*size.Dx()/size.Dy(), 0
	for i := range rows {
		faces = max(faces, len(rows[i].faces()))
	}
	out := image.NewRGBA(image.Rect(0, 0, wide+faces*height, len(rows)*height))
	draw.Draw(out, out.Bounds(), image.NewUniform(backColour), image.Point{}, draw.Src)
	for i, m := range rows {
		m.draw(out, image.Rect(0, i*height, wide, (i+1)*height))
	}
	return out
}

func (m *moment) draw(out *image.RGBA, at image.Rectangle) {
	size := m.frame.Bounds()
	whole := newView(out, at, m.frame, vision.Box{0, 0, float64(size.Dx()), float64(size.Dy())})
	for _, b := range m.theirs {
		whole.frame(b, theirColour)
	}
	for _, b := range m.ours {
		whole.frame(b, ourColour)
	}
	for i, b := range m.faces() {
		tile := image.Rect(at.Max.X+i*at.Dy(), at.Min.Y, at.Max.X+(i+1)*at.Dy(), at.Max.Y)
		v := newView(out, tile, m.frame, b)
		for k := range m.theirMarks {
			v.dots(&m.theirMarks[k], theirColour)
		}
		for k := range m.ourMarks {
			v.dots(&m.ourMarks[k], ourColour)
		}
	}
}

// faces are squares around the largest faces of the reference, then around those that are ours alone.
func (m *moment) faces() []vision.Box {
	var boxes []vision.Box
	for _, points := range [][]marks{m.theirMarks, m.ourMarks} {
		var more []vision.Box
		for k := range points {
			b := points[k].box()
			if !slices.ContainsFunc(boxes, func(o vision.Box) bool { return o.IoU(b) > 0.2 }) {
				more = append(more, b)
			}
		}
		slices.SortStableFunc(more, func(a, b vision.Box) int { return int(side(b) - side(a)) })
		boxes = append(boxes, more...)
	}
	boxes = boxes[:min(len(boxes), closeUps)]
	for i, b := range boxes {
		boxes[i] = around(b)
	}
	return boxes
}

// around is a square with some room around the points of a face.
func around(b vision.Box) vision.Box {
	x, y := b.Center()
	s := 1.35 * max(b[2], b[3])
	return vision.Box{x - s/2, y - s/2, s, s}
}

// encode makes a JPEG that is light enough for a repository.
func encode(img *image.RGBA) ([]byte, error) {
	for quality := 88; quality >= 30; quality -= 6 {
		var b bytes.Buffer
		if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: quality}); err != nil {
			return nil, err
		}
		if b.Len() <= heaviest {
			return b.Bytes(), nil
		}
	}
	return nil, fmt.Errorf("a sheet of %v does not fit into %d bytes", img.Bounds().Size(), heaviest)
}
