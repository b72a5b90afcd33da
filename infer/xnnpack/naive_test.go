//go:build xnnpack

package xnnpack

import (
	"fmt"
	"math"

	"facetrack/infer"
)

// naive computes a graph by the definitions of the operators, one element at a time in float64, with no code in
// common with the backend.
func naive(g *infer.Graph, in [][]float32) [][]float32 {
	data := make([][]float64, len(g.Values))
	for i, v := range g.Values {
		data[i] = widen(v.Data)
	}
	for i, id := range g.Inputs {
		data[id] = widen(in[i])
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		e := evaluator{g: g, n: n, data: data}
		out := make([]float64, g.Values[n.Outputs[0]].Len())
		for at := range out {
			out[at] = e.activate(e.element(unravel(at, g.Values[n.Outputs[0]].Shape), at), at)
		}
		data[n.Outputs[0]] = out
	}
	result := make([][]float32, len(g.Outputs))
	for i, id := range g.Outputs {
		for _, v := range data[id] {
			result[i] = append(result[i], float32(v))
		}
	}
	return result
}

type evaluator struct {
	g    *infer.Graph
	n    *infer.Node
	data [][]float64
}

func (e *evaluator) shape(k int) []int { return e.g.Values[e.n.Inputs[k]].Shape }
func (e *evaluator) outShape() []int   { return e.g.Values[e.n.Outputs[0]].Shape }

// at reads operand k at an index that may have more axes (they broadcast) or lie outside (zero).
func (e *evaluator) at(k int, index ...int) float64 {
	shape := e.shape(k)
	index = index[len(index)-len(shape):]
	offset := 0
	for i, d := range shape {
		x := index[i]
		if d == 1 && x > 0 && e.broadcasts() {
			x = 0
		}
		if x < 0 || x >= d {
			return 0
		}
		offset = offset*d + x
	}
	return e.data[e.n.Inputs[k]][offset]
}

func (e *evaluator) broadcasts() bool {
	switch e.n.Op {
	case infer.Add, infer.Sub, infer.Mul, infer.Div, infer.SquaredDifference:
		return true
	}
	return false
}

// element is the output at index o, which is element `flat` in memory order.
func (e *evaluator) element(o []int, flat int) float64 {
	switch e.n.Op {
	case infer.Conv2D:
		return e.conv(o)
	case infer.MaxPool2D:
		return e.maxPool(o)
	case infer.Mean, infer.Sum:
		return e.reduce(flat)
	case infer.Concat:
		return e.concat(o)
	case infer.Reshape:
		return e.data[e.n.Inputs[0]][flat]
	case infer.Pad, infer.Transpose, infer.StridedSlice, infer.ResizeNearest:
		return e.at(0, e.source(o)...)
	case infer.Add, infer.Sub, infer.Mul, infer.Div, infer.SquaredDifference:
		return binaryFunc(e.n.Op)(e.at(0, o...), e.at(1, o...))
	}
	return e.unary(e.data[e.n.Inputs[0]][flat], o)
}

func binaryFunc(op infer.Op) func(x, y float64) float64 {
	switch op {
	case infer.Add:
		return func(x, y float64) float64 { return x + y }
	case infer.Sub:
		return func(x, y float64) float64 { return x - y }
	case infer.Mul:
		return func(x, y float64) float64 { return x * y }
	case infer.Div:
		return func(x, y float64) float64 { return x / y }
	}
	return func(x, y float64) float64 { return (x - y) * (x - y) }
}

func (e *evaluator) unary(x float64, o []int) float64 {
	switch e.n.Op {
	case infer.Neg:
		return -x
	case infer.Sqrt:
		return math.Sqrt(x)
	case infer.Rsqrt:
		return 1 / math.Sqrt(x)
	case infer.Logistic:
		return 1 / (1 + math.Exp(-x))
	case infer.Relu:
		return math.Max(x, 0)
	case infer.PRelu:
		return leak(x, e.data[e.n.Inputs[1]][o[len(o)-1]])
	}
	panic(fmt.Sprintf("naive: no operator %s", e.n.Op))
}

func leak(x, slope float64) float64 {
	if x < 0 {
		return slope * x
	}
	return x
}

func (e *evaluator) activate(x float64, flat int) float64 {
	shape := e.outShape()
	switch e.n.Activation {
	case infer.ReluActivation:
		return math.Max(x, 0)
	case infer.Relu6Activation:
		return math.Min(math.Max(x, 0), 6)
	case infer.PReluActivation:
		slope := e.data[e.n.Inputs[len(e.n.Inputs)-1]]
		return leak(x, slope[flat%shape[len(shape)-1]])
	}
	return x
}

// source is the input index that a data-moving operator reads for output index o.
func (e *evaluator) source(o []int) []int {
	index := make([]int, len(o))
	for i := range o {
		switch e.n.Op {
		case infer.Pad:
			index[i] = o[i] - e.n.Before[i]
		case infer.Transpose:
			index[e.n.Perm[i]] = o[i]
		case infer.StridedSlice:
			index[i] = e.n.Begin[i] + o[i]*e.n.Steps[i]
		case infer.ResizeNearest:
			index[i] = o[i]
			if i == 1 || i == 2 {
				index[i] = o[i] / e.n.Scale[i-1]
			}
		}
	}
	return index
}

func (e *evaluator) conv(o []int) float64 {
	in, w := e.shape(0), e.shape(1)
	x, filter := e.data[e.n.Inputs[0]], e.data[e.n.Inputs[1]]
	group := o[3] / (w[0] / e.n.Groups)
	sum := 0.0
	if biased := len(e.n.Inputs) > 2 && (e.n.Activation != infer.PReluActivation || len(e.n.Inputs) > 3); biased {
		sum = e.data[e.n.Inputs[2]][o[3]]
	}
	for ky := range w[1] {
		for kx := range w[2] {
			row, column := o[1]*e.n.Stride[0]-e.n.Pads[0]+ky*e.n.Dilation[0], o[2]*e.n.Stride[1]-e.n.Pads[1]+kx*e.n.Dilation[1]
			if row < 0 || row >= in[1] || column < 0 || column >= in[2] {
				continue
			}
			from := x[ravel([]int{o[0], row, column, group * w[3]}, in):]
			tap := filter[ravel([]int{o[3], ky, kx, 0}, w):]
			for c := range w[3] {
				sum += from[c] * tap[c]
			}
		}
	}
	return sum
}

func (e *evaluator) maxPool(o []int) float64 {
	in, best := e.shape(0), math.Inf(-1)
	for ky := range e.n.Kernel[0] {
		for kx := range e.n.Kernel[1] {
			y, x := o[1]*e.n.Stride[0]-e.n.Pads[0]+ky, o[2]*e.n.Stride[1]-e.n.Pads[1]+kx
			if y >= 0 && y < in[1] && x >= 0 && x < in[2] {
				best = math.Max(best, e.at(0, o[0], y, x, o[3]))
			}
		}
	}
	return best
}

// reduce adds up the input elements whose index, with the reduced axes set to 0, is the output's.
func (e *evaluator) reduce(flat int) float64 {
	shape := e.shape(0)
	kept := reducedShape(shape, e.n.Axes)
	sum, count := 0.0, 0.0
	for i, x := range e.data[e.n.Inputs[0]] {
		index := unravel(i, shape)
		for _, a := range e.n.Axes {
			index[a] = 0
		}
		if ravel(index, kept) == flat {
			sum, count = sum+x, count+1
		}
	}
	if e.n.Op == infer.Mean {
		return sum / count
	}
	return sum
}

func (e *evaluator) concat(o []int) float64 {
	at := o[e.n.Axis]
	for k := range e.n.Inputs {
		if d := e.shape(k)[e.n.Axis]; at >= d {
			at -= d
			continue
		}
		index := append([]int(nil), o...)
		index[e.n.Axis] = at
		return e.at(k, index...)
	}
	panic("naive: concat index outside")
}

func unravel(flat int, shape []int) []int {
	index := make([]int, len(shape))
	for i := len(shape) - 1; i >= 0; i-- {
		index[i] = flat % shape[i]
		flat /= shape[i]
	}
	return index
}

func ravel(index, shape []int) int {
	flat := 0
	for i := range shape {
		flat = flat*shape[i] + index[i]
	}
	return flat
}

func widen(in []float32) []float64 {
	if in == nil {
		return nil
	}
	out := make([]float64, len(in))
	for i, v := range in {
		out[i] = float64(v)
	}
	return out
}
