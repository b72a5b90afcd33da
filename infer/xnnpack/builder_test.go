//go:build xnnpack

package xnnpack

import (
	"math/rand/v2"
	"slices"

	"facetrack/infer"
)

// net builds a graph node by node with random constants of a fixed seed.
type net struct {
	g   *infer.Graph
	rnd *rand.Rand
}

func newNet() *net {
	return &net{g: &infer.Graph{Name: "net"}, rnd: rand.New(rand.NewPCG(1, 2))}
}

func (b *net) value(shape []int, data []float32) infer.ValueID {
	b.g.Values = append(b.g.Values, infer.Value{Shape: shape, Data: data})
	return infer.ValueID(len(b.g.Values) - 1)
}

func (b *net) input(shape ...int) infer.ValueID {
	id := b.value(shape, nil)
	b.g.Inputs = append(b.g.Inputs, id)
	return id
}

// random makes a constant of values in ±scale.
func (b *net) random(scale float32, shape ...int) infer.ValueID {
	return b.value(shape, noise(b.rnd, volume(shape), scale))
}

func noise(rnd *rand.Rand, n int, scale float32) []float32 {
	data := make([]float32, n)
	for i := range data {
		data[i] = (rnd.Float32()*2 - 1) * scale
	}
	return data
}

func (b *net) node(n infer.Node, shape ...int) infer.ValueID {
	out := b.value(shape, nil)
	n.Name, n.Outputs = string(n.Op), []infer.ValueID{out}
	b.g.Nodes = append(b.g.Nodes, n)
	return out
}

func (b *net) shape(id infer.ValueID) []int { return b.g.Values[id].Shape }

// outputs ends the graph.
func (b *net) outputs(ids ...infer.ValueID) *infer.Graph {
	b.g.Outputs = ids
	return b.g
}

// window is the extent after a kernel slid over a padded axis.
func window(in, before, after, kernel, stride int) int { return (in+before+after-kernel)/stride + 1 }

// conv adds a convolution with bias; groups < 0 is depthwise.
func (b *net) conv(x infer.ValueID, channels, kernel, stride int, pads [4]int, groups int, act infer.Activation) infer.ValueID {
	in := b.shape(x)
	if groups < 0 {
		groups = in[3]
	}
	taps := kernel * kernel * in[3] / groups
	n := infer.Node{
		Op: infer.Conv2D, Groups: groups, Kernel: [2]int{kernel, kernel}, Stride: [2]int{stride, stride}, Dilation: [2]int{1, 1},
		Pads: pads, Activation: act,
		Inputs: []infer.ValueID{x, b.random(1.7/float32(taps), channels, kernel, kernel, in[3]/groups), b.random(0.5, channels)},
	}
	if act == infer.PReluActivation {
		n.Inputs = append(n.Inputs, b.random(1, channels))
	}
	return b.node(n, in[0], window(in[1], pads[0], pads[2], kernel, stride), window(in[2], pads[1], pads[3], kernel, stride), channels)
}

func (b *net) maxPool(x infer.ValueID, kernel, stride int, pads [4]int) infer.ValueID {
	in := b.shape(x)
	n := infer.Node{Op: infer.MaxPool2D, Inputs: []infer.ValueID{x}, Kernel: [2]int{kernel, kernel}, Stride: [2]int{stride, stride}, Pads: pads}
	return b.node(n, in[0], window(in[1], pads[0], pads[2], kernel, stride), window(in[2], pads[1], pads[3], kernel, stride), in[3])
}

func (b *net) pad(x infer.ValueID, before, after []int) infer.ValueID {
	shape := slices.Clone(b.shape(x))
	for i := range shape {
		shape[i] += before[i] + after[i]
	}
	return b.node(infer.Node{Op: infer.Pad, Inputs: []infer.ValueID{x}, Before: before, After: after}, shape...)
}

// binary adds an operator of two operands that broadcast.
func (b *net) binary(op infer.Op, x, y infer.ValueID, act infer.Activation) infer.ValueID {
	sx, sy := b.shape(x), b.shape(y)
	shape := make([]int, max(len(sx), len(sy)))
	for i := range shape {
		shape[i] = 1
		if k := i - len(shape) + len(sx); k >= 0 {
			shape[i] = sx[k]
		}
		if k := i - len(shape) + len(sy); k >= 0 {
			shape[i] = max(shape[i], sy[k])
		}
	}
	return b.node(infer.Node{Op: op, Inputs: []infer.ValueID{x, y}, Activation: act}, shape...)
}

func (b *net) unary(op infer.Op, x infer.ValueID) infer.ValueID {
	return b.node(infer.Node{Op: op, Inputs: []infer.ValueID{x}}, b.shape(x)...)
}

func (b *net) prelu(x infer.ValueID) infer.ValueID {
	shape := b.shape(x)
	return b.node(infer.Node{Op: infer.PRelu, Inputs: []infer.ValueID{x, b.random(1, shape[len(shape)-1])}}, shape...)
}

func (b *net) reshape(x infer.ValueID, shape ...int) infer.ValueID {
	return b.node(infer.Node{Op: infer.Reshape, Inputs: []infer.ValueID{x}}, shape...)
}

func (b *net) transpose(x infer.ValueID, perm ...int) infer.ValueID {
	in, shape := b.shape(x), make([]int, len(perm))
	for i, a := range perm {
		shape[i] = in[a]
	}
	return b.node(infer.Node{Op: infer.Transpose, Inputs: []infer.ValueID{x}, Perm: perm}, shape...)
}

func (b *net) reduce(op infer.Op, x infer.ValueID, axes ...int) infer.ValueID {
	return b.node(infer.Node{Op: op, Inputs: []infer.ValueID{x}, Axes: axes, KeepDims: true}, reducedShape(b.shape(x), axes)...)
}
