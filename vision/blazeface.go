package vision

import (
	"fmt"
	"math"

	"facetrack/infer"
)

// blazeFace decodes the short-range model: anchors of unit size at the cell centres of a 16×16 grid (two a
// cell) and an 8×8 grid (six a cell); box and key points are offsets in input pixels.
type blazeFace struct {
	size           int
	anchors        [][2]float64 // input pixels
	boxes, classes int          // output indices
}

const (
	blazeSize      = 128
	blazeValues    = 16 // 4 of the box, 6 key points
	blazeKeyPoints = 6
	blazeClip      = 100 // logits beyond are clipped before the sigmoid
)

func newBlazeFace(size int, outputs []infer.Info) (*blazeFace, error) {
	b := &blazeFace{size: size, boxes: -1, classes: -1}
	if size != blazeSize {
		return nil, fmt.Errorf("%w: input of %d pixels; the BlazeFace short-range model has %d", ErrModel, size, blazeSize)
	}
	for _, level := range []struct{ cells, each int }{{16, 2}, {8, 6}} {
		step := blazeSize / float64(level.cells)
		for i := range level.cells * level.cells * level.each {
			cell := i / level.each
			b.anchors = append(b.anchors, [2]float64{
				(float64(cell%level.cells) + 0.5) * step, (float64(cell/level.cells) + 0.5) * step,
			})
		}
	}
	for i, o := range outputs {
		switch o.Len() {
		case len(b.anchors) * blazeValues:
			b.boxes = i
		case len(b.anchors):
			b.classes = i
		}
	}
	if b.boxes < 0 || b.classes < 0 {
		return nil, fmt.Errorf("%w: outputs %v; BlazeFace has %d×%d and %d values", ErrModel, outputs, len(b.anchors), blazeValues, len(b.anchors))
	}
	return b, nil
}

func (b *blazeFace) options(o DetectorOptions) DetectorOptions {
	if o.ScoreThreshold == 0 {
		o.ScoreThreshold = 0.5
	}
	return o
}

func (b *blazeFace) normalization() Normalization { return RGBSigned }

func (b *blazeFace) reduce(faces []Face, threshold float64, limit int) []Face {
	return merge(faces, threshold, limit)
}

func (b *blazeFace) decode(out [][]float32, threshold float64) []Face {
	var faces []Face
	for i, logit := range out[b.classes] {
		score := sigmoid(math.Max(-blazeClip, math.Min(blazeClip, float64(logit))))
		if score >= threshold {
			f := blazeBox(b.anchors[i], out[b.boxes][blazeValues*i:blazeValues*(i+1)])
			f.Score = score
			faces = append(faces, f)
		}
	}
	return faces
}

func blazeBox(anchor [2]float64, v []float32) Face {
	w, h := math.Max(0, float64(v[2])), math.Max(0, float64(v[3]))
	f := Face{
		Box:       Box{anchor[0] + float64(v[0]) - w/2, anchor[1] + float64(v[1]) - h/2, w, h},
		KeyPoints: make([][2]float64, blazeKeyPoints),
	}
	for k := range f.KeyPoints {
		f.KeyPoints[k] = [2]float64{anchor[0] + float64(v[4+2*k]), anchor[1] + float64(v[5+2*k])}
	}
	return f
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
