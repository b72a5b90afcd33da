package testmodels

import (
	"math"

	mb "facetrack/internal/modelbuild"
	"facetrack/topology"
	"facetrack/vision"
)

// FaceSpread is what Face's network says of every point's spread.
const FaceSpread = -4.0

// Face is an ONNX network of the project's own kind: points of topology.ICT, spread, presence, blendshapes and rotation of drawn faces.
func Face() []byte {
	b := mb.New("synthetic face")
	m := moments(b)
	template := FaceTemplate()
	n := len(template)
	constant := func(name string, values []float32) {
		y := b.Conv2D(m, b.Const([]int{len(values), 1, 1, 3}, make([]float32, 3*len(values))), b.Const([]int{len(values)}, values))
		b.Output(name, b.Reshape(y, 1, 1, len(values)))
	}
	b.Output("points", b.Reshape(around(b, m, template), 1, 1, 3*n))
	spread := make([]float32, n)
	for i := range spread {
		spread[i] = FaceSpread
	}
	constant("spread", spread)
	b.Output("presence", b.Reshape(presence(b, m), 1, 1, 1))
	scores := make([]float32, len(vision.BlendshapeNames))
	for i := range scores {
		scores[i] = float32(Blendshape(i))
	}
	constant("coefficients", scores)
	constant("pose", []float32{1, 0, 0, 0, 1, 0})
	return b.ONNX()
}

// FaceTemplate is Template for the points of topology.ICT: its mean head, flattened onto the disc, with the eyes where they are drawn.
func FaceTemplate() [][3]float64 {
	head := topology.ICT.Head()
	low, high := [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{math.Inf(-1), math.Inf(-1)}
	for _, p := range head {
		for k := range low {
			low[k], high[k] = min(low[k], p[k]), max(high[k], p[k])
		}
	}
	t := make([][3]float64, len(head))
	for i, p := range head {
		t[i] = [3]float64{(p[0]-low[0])/(high[0]-low[0]) - 0.5, 0.5 - (p[1]-low[1])/(high[1]-low[1]), -p[2] / (high[0] - low[0])}
	}
	for i, side := range []float64{-1, 1} {
		e := &topology.ICT.Eyes[i]
		for index, p := range map[int][2]float64{
			e.Outer: {0.24, -0.12}, e.Inner: {0.12, -0.12}, e.Iris: {0.18, -0.12}, e.Upper: {0.18, -0.14}, e.Lower: {0.18, -0.1},
		} {
			t[index][0], t[index][1] = side*p[0], p[1]
		}
	}
	return t
}
