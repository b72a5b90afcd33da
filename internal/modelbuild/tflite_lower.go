package modelbuild

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Tensor types of the TFLite schema.
const (
	tflFloat32 = 0
	tflFloat16 = 1
	tflInt32   = 2
)

type tflTensor struct {
	name  string
	shape []int
	kind  int
	data  []byte
}

type tflOperator struct {
	op    string
	in    []int
	out   int
	attrs attributes
}

// tflModel is the network as the file lists it.
type tflModel struct {
	b         *Builder
	tensors   []tflTensor
	operators []tflOperator
	index     []int // file tensor by builder tensor
}

// TFLite writes the network as a .tflite file.
func (b *Builder) TFLite() []byte {
	m := &tflModel{b: b, index: make([]int, len(b.tensors))}
	for i := range b.tensors {
		m.index[i] = m.tensor(&b.tensors[i])
	}
	for i := range b.nodes {
		m.lower(&b.nodes[i])
	}
	return m.write()
}

// tensor lists an activation or constant; a float16 constant gets the DEQUANTIZE behind it.
func (m *tflModel) tensor(t *tensor) int {
	f := tflTensor{name: t.name, shape: t.shape}
	if t.data == nil {
		return m.add(f)
	}
	if !t.half {
		for _, v := range t.data {
			f.data = binary.LittleEndian.AppendUint32(f.data, math.Float32bits(v))
		}
		return m.add(f)
	}
	h := tflTensor{name: t.name + "/float16", shape: t.shape, kind: tflFloat16}
	for _, v := range t.data {
		h.data = binary.LittleEndian.AppendUint16(h.data, halfBits(v))
	}
	half, out := m.add(h), m.add(f)
	m.operators = append(m.operators, tflOperator{op: "DEQUANTIZE", in: []int{half}, out: out})
	return out
}

func (m *tflModel) add(t tflTensor) int {
	m.tensors = append(m.tensors, t)
	return len(m.tensors) - 1
}

// ints lists an int32 constant.
func (m *tflModel) ints(shape []int, values ...int) int {
	t := tflTensor{name: fmt.Sprintf("ints%d", len(m.tensors)), shape: shape, kind: tflInt32}
	for _, v := range values {
		t.data = binary.LittleEndian.AppendUint32(t.data, uint32(int32(v)))
	}
	return m.add(t)
}

func (m *tflModel) list(values []int) int { return m.ints([]int{len(values)}, values...) }

// lower adds what the format keeps in tensors, and splits what it cannot say in one operator.
func (m *tflModel) lower(n *node) {
	o := tflOperator{op: n.op, out: m.index[n.out.index], attrs: n.attrs}
	for _, t := range n.in {
		if t == None {
			o.in = append(o.in, -1)
		} else {
			o.in = append(o.in, m.index[t.index])
		}
	}
	a := &n.attrs
	switch n.op {
	case "CONV_2D":
		m.lowerConv(n, &o)
	case "MAX_POOL_2D":
		if !a.same && a.pads != [4]int{} {
			panic("modelbuild: TFLite cannot pool with explicit pads")
		}
	case "PAD":
		o.in = append(o.in, m.ints([]int{len(a.before), 2}, interleave(a.before, a.after)...))
	case "MEAN", "SUM":
		o.in = append(o.in, m.list(a.axes))
	case "RESHAPE":
		o.in = append(o.in, m.list(m.b.Shape(n.out)))
	case "TRANSPOSE":
		o.in = append(o.in, m.list(a.perm))
	case "STRIDED_SLICE":
		o.in = append(o.in, m.list(a.begin), m.list(a.end), m.list(a.steps))
	case "Resize":
		panic("modelbuild: ResizeNearest is for ONNX only")
	}
	m.operators = append(m.operators, o)
}

// lowerConv turns one group per input channel into DEPTHWISE_CONV_2D with weights [1,KH,KW,O], and explicit pads
// into a PAD before the convolution.
func (m *tflModel) lowerConv(n *node, o *tflOperator) {
	a, x := &n.attrs, m.b.Shape(n.in[0])
	if a.groups > 1 && a.groups == x[3] {
		w := m.b.tensors[n.in[1].index]
		o.op, o.attrs.multiplier = "DEPTHWISE_CONV_2D", w.shape[0]/a.groups
		out, taps := w.shape[0], a.kernel[0]*a.kernel[1]
		data := make([]float32, len(w.data))
		for c := range out {
			for t := range taps {
				data[t*out+c] = w.data[c*taps+t]
			}
		}
		o.in[1] = m.tensor(&tensor{name: w.name + "/depthwise", shape: []int{1, a.kernel[0], a.kernel[1], out}, data: data, half: w.half})
	}
	if !a.same && a.pads != [4]int{} {
		p := a.pads
		padded := m.add(tflTensor{name: m.tensors[o.out].name + "/padded", shape: []int{x[0], x[1] + p[0] + p[2], x[2] + p[1] + p[3], x[3]}})
		pairs := m.ints([]int{4, 2}, 0, 0, p[0], p[2], p[1], p[3], 0, 0)
		m.operators = append(m.operators, tflOperator{op: "PAD", in: []int{o.in[0], pairs}, out: padded})
		o.in[0] = padded
	}
}

func interleave(x, y []int) []int {
	var out []int
	for i := range x {
		out = append(out, x[i], y[i])
	}
	return out
}
