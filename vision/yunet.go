package vision

import (
	"fmt"
	"math"
	"strconv"

	"facetrack/infer"
)

// yuNet decodes the outputs cls, obj, bbox and kps at strides 8, 16 and 32: one prior per grid cell, at the
// cell's top-left corner, in units of the stride.
type yuNet struct {
	size   int
	levels []yuNetLevel
}

type yuNetLevel struct {
	stride, cols       int
	cls, obj, box, kps int // output indices
}

const yuNetKeyPoints = 5

func newYuNet(size int, outputs []infer.Info) (*yuNet, error) {
	y := &yuNet{size: size}
	for _, stride := range []int{8, 16, 32} {
		cols := size / stride
		l := yuNetLevel{stride: stride, cols: cols}
		for _, want := range []struct {
			index *int
			name  string
			width int
		}{{&l.cls, "cls", 1}, {&l.obj, "obj", 1}, {&l.box, "bbox", 4}, {&l.kps, "kps", 2 * yuNetKeyPoints}} {
			name := want.name + "_" + strconv.Itoa(stride)
			i, err := outputNamed(outputs, name, cols*cols*want.width)
			if err != nil {
				return nil, err
			}
			*want.index = i
		}
		y.levels = append(y.levels, l)
	}
	return y, nil
}

func outputNamed(outputs []infer.Info, name string, length int) (int, error) {
	for i, o := range outputs {
		if o.Name != name {
			continue
		}
		if o.Len() != length {
			return 0, fmt.Errorf("%w: output %q has %d values, YuNet %d", ErrModel, name, o.Len(), length)
		}
		return i, nil
	}
	return 0, fmt.Errorf("%w: no output %q; is this a YuNet?", ErrModel, name)
}

func (y *yuNet) options(o DetectorOptions) DetectorOptions {
	if o.ScoreThreshold == 0 {
		o.ScoreThreshold = 0.6
	}
	return o
}

func (y *yuNet) normalization() Normalization { return BGR255 }

func (y *yuNet) reduce(faces []Face, threshold float64, limit int) []Face {
	return suppress(faces, threshold, limit)
}

func (y *yuNet) decode(out [][]float32, threshold float64) []Face {
	var faces []Face
	square := float32(threshold * threshold)
	for _, l := range y.levels {
		cls, obj := out[l.cls], out[l.obj]
		for i, c := range cls {
			if product := c * obj[i]; product >= square {
				f := l.face(i, out[l.box][4*i:4*i+4], out[l.kps][10*i:10*i+10])
				f.Score = math.Min(1, math.Sqrt(float64(product)))
				faces = append(faces, f)
			}
		}
	}
	return faces
}

func (l yuNetLevel) face(i int, box, kps []float32) Face {
	stride := float64(l.stride)
	col, row := float64(i%l.cols), float64(i/l.cols)
	cx, cy := (col+float64(box[0]))*stride, (row+float64(box[1]))*stride
	w, h := extent(box[2], stride), extent(box[3], stride)
	f := Face{Box: Box{cx - w/2, cy - h/2, w, h}, KeyPoints: make([][2]float64, yuNetKeyPoints)}
	for k := range f.KeyPoints {
		f.KeyPoints[k] = [2]float64{(col + float64(kps[2*k])) * stride, (row + float64(kps[2*k+1])) * stride}
	}
	return f
}

// extent is the side of a box from its logarithm; a finite but absurd logarithm stays finite.
func extent(log float32, stride float64) float64 {
	return math.Exp(math.Min(float64(log), 12)) * stride
}
