package reference

import (
	"slices"

	"facetrack/infer"
	"facetrack/infer/internal/kernel"
)

func mapTo(y, x []float32, f func(float32) float32) {
	for i, v := range x {
		y[i] = f(v)
	}
}

// prelu has one slope per channel; channels are the last axis.
func prelu(y, x, slope []float32) {
	for len(x) > 0 {
		for c, s := range slope {
			y[c] = kernel.PRelu(x[c], s)
		}
		x, y = x[len(slope):], y[len(slope):]
	}
}

func (c *compiler) binary(n *infer.Node, f func(a, b float32) float32) func() {
	a, b, y := c.buffer(n.Inputs[0]), c.buffer(n.Inputs[1]), c.buffer(n.Outputs[0])
	as, bs, ys := c.shape(n.Inputs[0]), c.shape(n.Inputs[1]), c.shape(n.Outputs[0])
	if slices.Equal(as, bs) {
		return func() {
			for i, v := range a {
				y[i] = f(v, b[i])
			}
		}
	}
	ai, bi := kernel.Broadcast(as, ys).Indices(), kernel.Broadcast(bs, ys).Indices()
	return func() {
		for i := range y {
			y[i] = f(a[ai[i]], b[bi[i]])
		}
	}
}
