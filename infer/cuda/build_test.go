package gpu

import (
	"math/rand/v2"

	"facetrack/infer"
)

// net builds a graph node by node, with random constants of a fixed seed.
type net struct {
	g *infer.Graph
	r *rand.Rand
}

func newNet() *net { return &net{&infer.Graph{Name: "net"}, rand.New(rand.NewPCG(1, 2))} }

func (b *net) value(shape []int, data []float32) infer.ValueID {
	b.g.Values = append(b.g.Values, infer.Value{Shape: shape, Data: data})
	return infer.ValueID(len(b.g.Values) - 1)
}

func (b *net) input(shape ...int) infer.ValueID {
	id := b.value(shape, nil)
	b.g.Inputs = append(b.g.Inputs, id)
	return id
}

// random is a constant of numbers in ±scale.
func (b *net) random(scale float32, shape ...int) infer.ValueID {
	v := infer.Value{Shape: shape}
	data := make([]float32, v.Len())
	for i := range data {
		data[i] = (b.r.Float32()*2 - 1) * scale
	}
	return b.value(shape, data)
}

func (b *net) number(v float32) infer.ValueID { return b.value(nil, []float32{v}) }

// node adds an operator; its shape follows from its operands.
func (b *net) node(n infer.Node, in ...infer.ValueID) infer.ValueID {
	out := b.value(nil, nil)
	n.Name, n.Inputs, n.Outputs = string(n.Op), in, []infer.ValueID{out}
	shape, err := b.g.OutputShape(&n)
	if err != nil {
		panic(err)
	}
	b.g.Values[out].Shape = shape
	b.g.Nodes = append(b.g.Nodes, n)
	return out
}

func (b *net) op(op infer.Op, in ...infer.ValueID) infer.ValueID {
	return b.node(infer.Node{Op: op}, in...)
}

func (b *net) shape(id infer.ValueID) []int { return b.g.Values[id].Shape }

// outputs ends the graph.
func (b *net) outputs(ids ...infer.ValueID) *infer.Graph {
	b.g.Outputs = ids
	return b.g
}

// conv is a square convolution with bias. Pads are those of TFLite's "same".
func (b *net) conv(x infer.ValueID, channels, kernel, stride, groups int, act infer.Activation) infer.ValueID {
	s := b.shape(x)
	n := infer.Node{
		Op: infer.Conv2D, Kernel: [2]int{kernel, kernel}, Stride: [2]int{stride, stride}, Dilation: [2]int{1, 1}, Groups: groups, Activation: act,
	}
	for a := range 2 {
		room := max(((s[a+1]+stride-1)/stride-1)*stride+kernel-s[a+1], 0)
		n.Pads[a], n.Pads[a+2] = room/2, room-room/2
	}
	taps := kernel * kernel * s[3] / groups
	in := []infer.ValueID{x, b.random(1.7/float32(taps), channels, kernel, kernel, s[3]/groups), b.random(0.5, channels)}
	if act == infer.PReluActivation {
		in = append(in, b.random(1, channels))
	}
	return b.node(n, in...)
}

func (b *net) point(x infer.ValueID, channels int) infer.ValueID {
	return b.conv(x, channels, 1, 1, 1, infer.NoActivation)
}

func (b *net) depth(x infer.ValueID, stride int, act infer.Activation) infer.ValueID {
	c := b.shape(x)[3]
	return b.conv(x, c, 3, stride, c, act)
}

func (b *net) pool(x infer.ValueID) infer.ValueID {
	two := [2]int{2, 2}
	return b.node(infer.Node{Op: infer.MaxPool2D, Kernel: two, Stride: two}, x)
}

func (b *net) add(x, y infer.ValueID, act infer.Activation) infer.ValueID {
	in := []infer.ValueID{x, y}
	if act == infer.PReluActivation {
		s := b.shape(x)
		in = append(in, b.random(1, s[len(s)-1]))
	}
	return b.node(infer.Node{Op: infer.Add, Activation: act}, in...)
}

// widen appends channels of zeros.
func (b *net) widen(x infer.ValueID, channels int) infer.ValueID {
	return b.node(infer.Node{Op: infer.Pad, Before: make([]int, 4), After: []int{0, 0, 0, channels}}, x)
}

func (b *net) reshape(x infer.ValueID, shape ...int) infer.ValueID {
	out := b.value(shape, nil)
	b.g.Nodes = append(b.g.Nodes, infer.Node{Op: infer.Reshape, Name: "Reshape", Inputs: []infer.ValueID{x}, Outputs: []infer.ValueID{out}})
	return out
}

func (b *net) concat(axis int, in ...infer.ValueID) infer.ValueID {
	return b.node(infer.Node{Op: infer.Concat, Axis: axis}, in...)
}

func (b *net) enlarge(x infer.ValueID, scale int) infer.ValueID {
	return b.node(infer.Node{Op: infer.ResizeNearest, Scale: [2]int{scale, scale}}, x)
}

func (b *net) reduce(op infer.Op, x infer.ValueID, axis int) infer.ValueID {
	return b.node(infer.Node{Op: op, Axes: []int{axis}, KeepDims: true}, x)
}

func (b *net) swap(x infer.ValueID) infer.ValueID {
	return b.node(infer.Node{Op: infer.Transpose, Perm: []int{0, 1, 3, 2}}, x)
}
