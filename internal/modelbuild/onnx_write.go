package modelbuild

import (
	"encoding/binary"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// onnxOps translates the TFLite names.
var onnxOps = map[string]string{
	"ADD": "Add", "CONCATENATION": "Concat", "CONV_2D": "Conv", "DIV": "Div", "LOGISTIC": "Sigmoid",
	"MAX_POOL_2D": "MaxPool", "MUL": "Mul", "NEG": "Neg", "PRELU": "PRelu", "RELU": "Relu", "RESHAPE": "Reshape",
	"Resize": "Resize", "SQRT": "Sqrt", "SUB": "Sub", "TRANSPOSE": "Transpose",
}

// message appends fields to a protocol buffer message.
type message []byte

func (m message) bytes(field protowire.Number, value []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), value)
}

func (m message) text(field protowire.Number, value string) message {
	return m.bytes(field, []byte(value))
}

func (m message) int(field protowire.Number, value int) message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), uint64(value))
}

// write serialises ModelProto: ir_version 1, producer 2, graph 7, opset_import 8.
func (m *onnxModel) write() []byte {
	var graph message
	for _, n := range m.nodes {
		graph = graph.bytes(1, n)
	}
	graph = graph.text(2, m.b.name)
	for _, t := range m.initializers {
		graph = graph.bytes(5, t)
	}
	for _, t := range m.b.inputs {
		graph = graph.bytes(11, m.valueInfo(t))
	}
	for _, t := range m.b.outputs {
		graph = graph.bytes(12, m.valueInfo(t))
	}
	return message(nil).int(1, 6).text(2, "modelbuild").bytes(7, graph).bytes(8, message(nil).text(1, "").int(2, 11))
}

// valueInfo is name 1, type 2 → tensor_type 1 → elem_type 1 and shape 2 → dim 1 → dim_value 1.
func (m *onnxModel) valueInfo(t Tensor) []byte {
	dims := m.b.Shape(t)
	if m.image[t.index] {
		dims = []int{dims[0], dims[3], dims[1], dims[2]}
	}
	var shape message
	for _, d := range dims {
		shape = shape.bytes(1, message(nil).int(1, d))
	}
	tensorType := message(nil).int(1, 1).bytes(2, shape)
	return message(nil).text(1, m.b.tensors[t.index].name).bytes(2, message(nil).bytes(1, tensorType))
}

// node is input 1, output 2, name 3, op_type 4, attribute 5.
func (m *onnxModel) node(op string, inputs []string, output string, attrs ...message) {
	var n message
	for _, in := range inputs {
		n = n.text(1, in)
	}
	n = n.text(2, output).text(3, output).text(4, op)
	for _, a := range attrs {
		n = n.bytes(5, a)
	}
	m.nodes = append(m.nodes, n)
}

// Attributes are name 1, i 3, s 4, ints 8, type 20.

func attrInt(name string, v int) message { return message(nil).text(1, name).int(3, v).int(20, 2) }

func attrText(name, v string) message { return message(nil).text(1, name).text(4, v).int(20, 3) }

func attrInts(name string, values ...int) message {
	a := message(nil).text(1, name)
	for _, v := range values {
		a = a.int(8, v)
	}
	return a.int(20, 7)
}

func (a *attributes) window() []message {
	return []message{attrInts("kernel_shape", a.kernel[:]...), attrInts("strides", a.stride[:]...), attrInts("pads", a.pads[:]...)}
}

// constant writes a constant with its axes permuted; -1 is a new axis of length 1, nil keeps all as it is.
func (m *onnxModel) constant(t Tensor, perm []int) string {
	c := &m.b.tensors[t.index]
	shape, data := c.shape, c.data
	if perm != nil {
		shape, data = permute(c.shape, c.data, perm)
	}
	return m.floats(fmt.Sprintf("%s/%d", c.name, len(m.initializers)), shape, data)
}

// floats adds an initializer: dims 1, data_type 2, name 8, raw_data 9.
func (m *onnxModel) floats(name string, shape []int, data []float32) string {
	var raw []byte
	for _, v := range data {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return m.initializer(name, 1, shape, raw)
}

func (m *onnxModel) ints(name string, values ...int) string {
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
	}
	return m.initializer(name, 7, []int{len(values)}, raw)
}

func (m *onnxModel) initializer(name string, kind int, shape []int, raw []byte) string {
	var t message
	for _, d := range shape {
		t = t.int(1, d)
	}
	m.initializers = append(m.initializers, t.int(2, kind).text(8, name).bytes(9, raw))
	return name
}

// permute orders the axes of a constant; -1 is a new axis of length 1.
func permute(shape []int, data []float32, perm []int) ([]int, []float32) {
	strides := make([]int, len(shape))
	n := 1
	for a := len(shape) - 1; a >= 0; a-- {
		strides[a], n = n, n*shape[a]
	}
	dims, steps := make([]int, len(perm)), make([]int, len(perm))
	for i, p := range perm {
		dims[i] = 1
		if p >= 0 {
			dims[i], steps[i] = shape[p], strides[p]
		}
	}
	out := make([]float32, 0, len(data))
	var walk func(axis, at int)
	walk = func(axis, at int) {
		if axis == len(dims) {
			out = append(out, data[at])
			return
		}
		for i := range dims[axis] {
			walk(axis+1, at+i*steps[axis])
		}
	}
	walk(0, 0)
	return dims, out
}
