package reference

import (
	"facetrack/infer"
	"facetrack/infer/internal/kernel"
)

// gather copies what a view of x addresses.
func gather(y, x []float32, view kernel.View) func() {
	index := view.Indices()
	return func() {
		for i, at := range index {
			y[i] = x[at]
		}
	}
}

// scatter copies x to what a view of y addresses; the rest of y stays zero.
func scatter(y, x []float32, view kernel.View) func() {
	index := view.Indices()
	return func() {
		for i, at := range index {
			y[at] = x[i]
		}
	}
}

// concat copies, for each index of the axes before the joined one, a run from every input.
func (c *compiler) concat(n *infer.Node) func() {
	y := c.buffer(n.Outputs[0])
	xs := make([][]float32, len(n.Inputs))
	runs := make([]int, len(n.Inputs))
	for i, id := range n.Inputs {
		xs[i] = c.buffer(id)
		runs[i] = product(c.shape(id)[n.Axis:])
	}
	outer := product(c.shape(n.Outputs[0])[:n.Axis])
	return func() {
		at := 0
		for o := range outer {
			for i, x := range xs {
				at += copy(y[at:], x[o*runs[i]:(o+1)*runs[i]])
			}
		}
	}
}

// reduce sums over the node's axes in the elements' order; Mean divides by how many elements each sum has. The sum is
// float32, as in the runtime that the public networks were made for: their published results hold its rounding
// (with a float64 sum the blendshape scores differ by 4e-6, with this one by less than 1e-6).
func reduce(y, x []float32, in []int, n *infer.Node) func() {
	kept := make([]int, len(in))
	copy(kept, in)
	for _, a := range n.Axes {
		kept[a] = 1
	}
	view := kernel.Dense(kept)
	view.Shape = in
	index := view.Fold(n.Axes).Indices()
	divisor := float32(1)
	if n.Op == infer.Mean {
		divisor = float32(len(x) / len(y))
	}
	return func() {
		clear(y)
		for i, at := range index {
			y[at] += x[i]
		}
		for i := range y {
			y[i] /= divisor
		}
	}
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}
