package modelbuild

import (
	"fmt"
	"slices"
)

// Tensor is an input, a constant, or what an operator computes.
type Tensor struct{ index int }

// None stands for an operand that is left out, such as a bias.
var None = Tensor{-1}

type tensor struct {
	name  string
	shape []int
	data  []float32 // nil for an activation
	half  bool      // stored as float16 where the format allows
}

type node struct {
	op    string // the TFLite name
	in    []Tensor
	out   Tensor
	attrs attributes
}

// attributes is the union of what operators need.
type attributes struct {
	stride, dilation, kernel [2]int
	same                     bool
	pads                     [4]int // top, left, bottom, right
	groups, multiplier       int
	activation               int // as in TFLite: 0 none, 1 ReLU, 3 ReLU6
	axes, perm               []int
	axis                     int
	keepDims                 bool
	before, after            []int
	begin, end, steps        []int
	masks                    Masks
	scale                    [2]int
}

// Builder collects a network. It is used once, by one goroutine.
type Builder struct {
	name    string
	tensors []tensor
	nodes   []node
	inputs  []Tensor
	outputs []Tensor
}

// New starts a network.
func New(name string) *Builder { return &Builder{name: name} }

// Input adds a float32 input; images are [1,H,W,C].
func (b *Builder) Input(name string, shape ...int) Tensor {
	t := b.add(tensor{name: name, shape: slices.Clone(shape)})
	b.inputs = append(b.inputs, t)
	return t
}

// Const adds a float32 constant.
func (b *Builder) Const(shape []int, data []float32) Tensor {
	if len(data) != product(shape) {
		panic(fmt.Sprintf("modelbuild: Const of shape %v has %d elements", shape, len(data)))
	}
	return b.add(tensor{shape: slices.Clone(shape), data: slices.Clone(data)})
}

// Half is Const, stored as float16 behind DEQUANTIZE in TFLite. Values are rounded to float16 in every format.
func (b *Builder) Half(shape []int, data []float32) Tensor {
	t := b.Const(shape, data)
	c := &b.tensors[t.index]
	c.half = true
	for i, v := range c.data {
		c.data[i] = HalfValue(v)
	}
	return t
}

// Output makes t an output with this name. t must be computed by an operator.
func (b *Builder) Output(name string, t Tensor) {
	if !slices.ContainsFunc(b.nodes, func(n node) bool { return n.out == t }) {
		panic(fmt.Sprintf("modelbuild: Output %q is not computed by an operator", name))
	}
	b.tensors[t.index].name = name
	b.outputs = append(b.outputs, t)
}

// Shape is the shape of a tensor.
func (b *Builder) Shape(t Tensor) []int { return slices.Clone(b.tensors[t.index].shape) }

func (b *Builder) add(t tensor) Tensor {
	if product(t.shape) < 1 {
		panic(fmt.Sprintf("modelbuild: tensor %q of shape %v", t.name, t.shape))
	}
	if t.name == "" {
		t.name = fmt.Sprintf("t%d", len(b.tensors))
	}
	b.tensors = append(b.tensors, t)
	return Tensor{len(b.tensors) - 1}
}

// compute adds a node and its output.
func (b *Builder) compute(op string, shape []int, a attributes, in ...Tensor) Tensor {
	out := b.add(tensor{shape: shape})
	b.nodes = append(b.nodes, node{op: op, in: in, out: out, attrs: a})
	return out
}

func (b *Builder) constant(op string, t Tensor) *tensor {
	if c := &b.tensors[t.index]; c.data != nil {
		return c
	}
	panic(fmt.Sprintf("modelbuild: %s needs a constant, not %q", op, b.tensors[t.index].name))
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}
