package modelbuild

import (
	"fmt"
	"slices"
)

// Permutations between the builder's NHWC and the file's NCHW.
var (
	toFile   = []int{0, 3, 1, 2}
	fromFile = []int{0, 2, 3, 1}
)

// onnxModel collects the network as the file lists it.
type onnxModel struct {
	b            *Builder
	nodes        [][]byte
	initializers [][]byte
	image        []bool         // by tensor: the file holds it as NCHW
	transposed   map[int]string // copies in the other layout, by tensor
}

// ONNX writes the network as an .onnx file of operator set 11. Rank-4 inputs and what follows them are NCHW in it.
func (b *Builder) ONNX() []byte {
	m := &onnxModel{b: b, image: make([]bool, len(b.tensors)), transposed: map[int]string{}}
	for _, t := range b.inputs {
		m.image[t.index] = len(b.Shape(t)) == 4
	}
	for i := range b.nodes {
		m.lower(&b.nodes[i])
	}
	return m.write()
}

func (m *onnxModel) lower(n *node) {
	a, out := &n.attrs, m.b.tensors[n.out.index].name
	op, ok := onnxOps[n.op]
	if !ok || a.activation > 1 {
		panic(fmt.Sprintf("modelbuild: ONNX files here have no %s with activation %d", n.op, a.activation))
	}
	computed := out
	if a.activation == 1 {
		computed += "/linear"
	}
	m.operator(n, op, computed)
	if a.activation == 1 {
		m.node("Relu", []string{computed}, out)
	}
}

func (m *onnxModel) operator(n *node, op, out string) {
	a, x := &n.attrs, n.in[0]
	switch n.op {
	case "CONV_2D":
		inputs := []string{m.asImage(x), m.constant(n.in[1], fromNHWC(4))}
		if n.in[2] != None {
			inputs = append(inputs, m.constant(n.in[2], nil))
		}
		m.node(op, inputs, out, append(a.window(), attrInts("dilations", a.dilation[:]...), attrInt("group", a.groups))...)
	case "MAX_POOL_2D":
		m.node(op, []string{m.asImage(x)}, out, a.window()...)
	case "Resize":
		scales := m.floats(out+"/scales", []int{4}, []float32{1, 1, float32(a.scale[0]), float32(a.scale[1])})
		m.node(op, []string{m.asImage(x), m.floats(out+"/roi", []int{0}, nil), scales}, out, attrText("mode", "nearest"),
			attrText("coordinate_transformation_mode", "asymmetric"), attrText("nearest_mode", "floor"))
	case "RESHAPE":
		m.node(op, []string{m.asPlain(x), m.ints(out+"/shape", m.b.Shape(n.out)...)}, out)
		return
	case "TRANSPOSE":
		m.transpose(n, out)
		return
	default:
		m.sameLayout(n, op, out)
		return
	}
	m.image[n.out.index] = true
}

// sameLayout handles operators that work in either layout, as long as all operands share it.
func (m *onnxModel) sameLayout(n *node, op, out string) {
	a := &n.attrs
	image := !slices.ContainsFunc(n.in, func(t Tensor) bool { return m.b.tensors[t.index].data == nil && !m.image[t.index] })
	var inputs []string
	for i, t := range n.in {
		switch {
		case m.b.tensors[t.index].data != nil && !image:
			inputs = append(inputs, m.constant(t, nil))
		case m.b.tensors[t.index].data != nil && op == "PRelu" && i == 1:
			inputs = append(inputs, m.constant(t, []int{0, -1, -1}))
		case m.b.tensors[t.index].data != nil:
			inputs = append(inputs, m.constant(t, fromNHWC(len(m.b.Shape(t)))))
		case image:
			inputs = append(inputs, m.b.tensors[t.index].name)
		default:
			inputs = append(inputs, m.asPlain(t))
		}
	}
	m.image[n.out.index] = image
	if op != "Concat" {
		m.node(op, inputs, out)
		return
	}
	axis := a.axis
	if image {
		axis = slices.Index(toFile, a.axis)
	}
	m.node(op, inputs, out, attrInt("axis", axis))
}

// transpose composes the wanted permutation of NHWC with where those axes are in the file.
func (m *onnxModel) transpose(n *node, out string) {
	perm := slices.Clone(n.attrs.perm)
	if m.image[n.in[0].index] {
		for i, p := range perm {
			perm[i] = slices.Index(toFile, p)
		}
	}
	m.node("Transpose", []string{m.b.tensors[n.in[0].index].name}, out, attrInts("perm", perm...))
}

// asImage names a tensor in NCHW.
func (m *onnxModel) asImage(t Tensor) string { return m.inLayout(t, true, "/image", toFile) }

// asPlain names a tensor in the builder's own layout.
func (m *onnxModel) asPlain(t Tensor) string { return m.inLayout(t, false, "/plain", fromFile) }

func (m *onnxModel) inLayout(t Tensor, image bool, suffix string, perm []int) string {
	name := m.b.tensors[t.index].name
	if m.image[t.index] == image {
		return name
	}
	if _, ok := m.transposed[t.index]; !ok {
		m.transposed[t.index] = name + suffix
		m.node("Transpose", []string{name}, name+suffix, attrInts("perm", perm...))
	}
	return m.transposed[t.index]
}

// fromNHWC permutes a constant of rank up to 4 that is aligned at NHWC's last axis; -1 is a new axis of length 1.
func fromNHWC(rank int) []int {
	perm := []int{0, 3, 1, 2}
	for i := range perm {
		perm[i] -= 4 - rank
	}
	for len(perm) > 0 && perm[0] < 0 {
		perm = perm[1:]
	}
	for i := range perm {
		perm[i] = max(perm[i], -1)
	}
	return perm
}
