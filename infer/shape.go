package infer

import (
	"fmt"
	"slices"
)

// OutputShape is the shape that node n computes from the shapes of its inputs, or what is wrong with
// the node's attributes. A Reshape takes the shape that its output value declares.
// Inputs and outputs must be valid ids of g.
func (g *Graph) OutputShape(n *Node) ([]int, error) {
	in := make([][]int, len(n.Inputs))
	for i, id := range n.Inputs {
		in[i] = g.Values[id].Shape
	}
	lo, hi := arity(n)
	if len(in) < lo || len(in) > hi || len(n.Outputs) != 1 {
		return nil, fmt.Errorf("%w: %s has %d inputs and %d outputs, needs %d to %d and 1", ErrInvalidGraph, n, len(in), len(n.Outputs), lo, hi)
	}
	shape, err := g.nodeShape(n, in)
	if err != nil {
		return nil, fmt.Errorf("%w: %s on %v: %w", ErrInvalidGraph, n, in, err)
	}
	if _, err := CheckShape(shape); err != nil {
		return nil, fmt.Errorf("%s: %w", n, err)
	}
	return shape, nil
}

func arity(n *Node) (lo, hi int) {
	lo, hi = 1, 1
	switch n.Op {
	case Add, Sub, Mul, Div, SquaredDifference, PRelu:
		lo, hi = 2, 2
	case Conv2D:
		lo, hi = 2, 3
	case Concat:
		hi = MaxValues
	}
	if n.Activation == PReluActivation {
		lo, hi = lo+1, hi+1
	}
	return lo, hi
}

func (g *Graph) nodeShape(n *Node, in [][]int) ([]int, error) {
	switch n.Op {
	case Conv2D:
		return convShape(n, in)
	case MaxPool2D:
		return poolShape(n, in[0])
	case Pad:
		return padShape(n, in[0])
	case Add, Sub, Mul, Div, SquaredDifference:
		return Broadcast(in[0], in[1])
	case Neg, Sqrt, Rsqrt, Logistic, Relu, PRelu:
		return in[0], nil
	case Mean, Sum:
		return reduceShape(n, in[0])
	case Transpose:
		return transposeShape(n, in[0])
	case Reshape:
		return reshapeShape(in[0], g.Values[n.Outputs[0]].Shape)
	case Concat:
		return concatShape(n, in)
	case StridedSlice:
		return sliceShape(n, in[0])
	case ResizeNearest:
		return resizeShape(n, in[0])
	}
	return nil, fmt.Errorf("unknown operator %q", n.Op)
}

// Broadcast is the common shape of two shapes that are aligned at the last axis.
func Broadcast(a, b []int) ([]int, error) {
	out := make([]int, max(len(a), len(b)))
	for i := range out {
		da, db := dimFromEnd(a, len(out)-i), dimFromEnd(b, len(out)-i)
		if da != db && da != 1 && db != 1 {
			return nil, fmt.Errorf("shapes %v and %v do not broadcast", a, b)
		}
		out[i] = max(da, db)
	}
	return out, nil
}

func dimFromEnd(shape []int, i int) int {
	if i > len(shape) {
		return 1
	}
	return shape[len(shape)-i]
}

func transposeShape(n *Node, x []int) ([]int, error) {
	if len(n.Perm) != len(x) {
		return nil, fmt.Errorf("permutation %v needs one entry per axis", n.Perm)
	}
	out := make([]int, len(x))
	seen := make([]bool, len(x))
	for i, p := range n.Perm {
		if p < 0 || p >= len(x) || seen[p] {
			return nil, fmt.Errorf("%v is not a permutation of the axes", n.Perm)
		}
		seen[p] = true
		out[i] = x[p]
	}
	return out, nil
}

func reshapeShape(x, want []int) ([]int, error) {
	have, err := CheckShape(x)
	if err != nil {
		return nil, err
	}
	if n, err := CheckShape(want); err != nil || n != have {
		return nil, fmt.Errorf("%d elements cannot become %v", have, want)
	}
	return want, nil
}

func concatShape(n *Node, in [][]int) ([]int, error) {
	out := slices.Clone(in[0])
	if n.Axis < 0 || n.Axis >= len(out) {
		return nil, fmt.Errorf("axis %d is outside the rank", n.Axis)
	}
	for _, s := range in[1:] {
		if len(s) != len(out) {
			return nil, fmt.Errorf("inputs differ in rank")
		}
		for a := range s {
			if a != n.Axis && s[a] != out[a] {
				return nil, fmt.Errorf("inputs differ on axis %d", a)
			}
		}
		out[n.Axis] += s[n.Axis]
	}
	return out, nil
}

func reduceShape(n *Node, x []int) ([]int, error) {
	reduced := make([]bool, len(x))
	for _, a := range n.Axes {
		if a < 0 || a >= len(x) || reduced[a] {
			return nil, fmt.Errorf("axes %v must be different and inside the rank", n.Axes)
		}
		reduced[a] = true
	}
	var out []int
	for a, d := range x {
		switch {
		case !reduced[a]:
			out = append(out, d)
		case n.KeepDims:
			out = append(out, 1)
		}
	}
	return out, nil
}
