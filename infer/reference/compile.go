package reference

import (
	"fmt"

	"facetrack/infer"
	"facetrack/infer/internal/kernel"
)

// compiler turns nodes into functions over buffers that are allocated once.
type compiler struct {
	g    *infer.Graph
	data [][]float32
}

// buffer is the memory of a value: the constant itself, or room for one batch item.
func (c *compiler) buffer(id infer.ValueID) []float32 {
	if c.data[id] == nil {
		v := &c.g.Values[id]
		if c.data[id] = v.Data; v.Data == nil {
			c.data[id] = make([]float32, v.Len())
		}
	}
	return c.data[id]
}

func (c *compiler) shape(id infer.ValueID) []int { return c.g.Values[id].Shape }

func (c *compiler) node(n *infer.Node) ([]func(), error) {
	if n.Op == infer.Reshape { // the same elements in the same order: no work
		c.data[n.Outputs[0]] = c.buffer(n.Inputs[0])
		return nil, nil
	}
	step, err := c.operator(n)
	if err != nil {
		return nil, err
	}
	steps := []func(){step}
	if act := c.activation(n); act != nil {
		steps = append(steps, act)
	}
	return steps, nil
}

func (c *compiler) operator(n *infer.Node) (func(), error) {
	x, y := c.buffer(n.Inputs[0]), c.buffer(n.Outputs[0])
	in, out := c.shape(n.Inputs[0]), c.shape(n.Outputs[0])
	if f, ok := kernel.Unary(string(n.Op)); ok {
		return func() { mapTo(y, x, f) }, nil
	}
	if f, ok := kernel.Binary(string(n.Op)); ok {
		return c.binary(n, f), nil
	}
	switch n.Op {
	case infer.Conv2D:
		return c.conv(n), nil
	case infer.MaxPool2D:
		return func() { maxPool(y, x, in, out, n) }, nil
	case infer.ResizeNearest:
		return func() { resizeNearest(y, x, out, n.Scale) }, nil
	case infer.PRelu:
		slope := c.buffer(n.Inputs[1])
		return func() { prelu(y, x, slope) }, nil
	case infer.Transpose:
		return gather(y, x, kernel.Dense(in).Transpose(n.Perm)), nil
	case infer.StridedSlice:
		return gather(y, x, kernel.Dense(in).Window(n.Begin, n.Steps, out)), nil
	case infer.Pad:
		return scatter(y, x, kernel.Dense(out).Window(n.Before, ones(len(in)), in)), nil
	case infer.Concat:
		return c.concat(n), nil
	case infer.Mean, infer.Sum:
		return reduce(y, x, in, n), nil
	}
	return nil, fmt.Errorf("this backend has no such operator")
}

// activation applies what is fused behind n, in place.
func (c *compiler) activation(n *infer.Node) func() {
	y := c.buffer(n.Outputs[0])
	switch n.Activation {
	case infer.ReluActivation:
		return func() { mapTo(y, y, kernel.Relu) }
	case infer.Relu6Activation:
		return func() { mapTo(y, y, kernel.Relu6) }
	case infer.PReluActivation:
		slope := c.buffer(n.Inputs[len(n.Inputs)-1])
		return func() { prelu(y, y, slope) }
	}
	return nil
}

func ones(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = 1
	}
	return out
}
