package infer

import (
	"slices"

	"facetrack/infer/internal/kernel"
)

// foldAllowance lets folding at most double a graph's constants: broadcasting must not blow up a small file.
func foldAllowance(g *Graph) int {
	n := 1 << 12
	for i := range g.Values {
		n += len(g.Values[i].Data)
	}
	return n
}

// fold computes an elementwise or layout node whose operands are all constant, and makes its output a constant.
func (o *optimizer) fold(n *Node) bool {
	out := &o.g.Values[n.Outputs[0]]
	if n.Activation != NoActivation || o.isOutput[n.Outputs[0]] || out.Len() > o.foldBudget {
		return false
	}
	for _, id := range n.Inputs {
		if o.g.Values[id].Data == nil {
			return false
		}
	}
	x := &o.g.Values[n.Inputs[0]]
	switch n.Op {
	case Reshape:
		out.Data = x.Data
	case Transpose:
		out.Data = take(x.Data, kernel.Dense(x.Shape).Transpose(n.Perm))
	default:
		out.Data = o.foldArithmetic(n, x, out.Shape)
	}
	o.foldBudget -= len(out.Data)
	return out.Data != nil
}

// foldArithmetic returns nil for an operator that is not arithmetic.
func (o *optimizer) foldArithmetic(n *Node, x *Value, shape []int) []float32 {
	if f, ok := kernel.Unary(string(n.Op)); ok {
		data := slices.Clone(x.Data)
		for i, v := range data {
			data[i] = f(v)
		}
		return data
	}
	f, ok := kernel.Binary(string(n.Op))
	if !ok {
		return nil
	}
	b := &o.g.Values[n.Inputs[1]]
	data := take(x.Data, kernel.Broadcast(x.Shape, shape))
	for i, v := range take(b.Data, kernel.Broadcast(b.Shape, shape)) {
		data[i] = f(data[i], v)
	}
	return data
}

func take(data []float32, v kernel.View) []float32 {
	index := v.Indices()
	out := make([]float32, len(index))
	for i, at := range index {
		out[i] = data[at]
	}
	return out
}
