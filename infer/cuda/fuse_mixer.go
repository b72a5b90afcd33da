package gpu

import (
	"slices"

	"facetrack/infer"
	"facetrack/internal/kernels/nn"
)

// fuseMixer makes one operator of a graph that is a mixer from its input to its output, and says whether it is.
func (p *program) fuseMixer() bool {
	if len(p.in) != 1 || len(p.out) != 1 {
		return false
	}
	m := &matcher{p: p, l: p.links()}
	weights := m.mixer(p.in[0], p.out[0])
	if _, err := nn.MixerOf(weights); m.failed || err != nil {
		return false
	}
	p.ops = []op{{
		Node:  infer.Node{Op: mixerOp, Name: "mixer", Inputs: []infer.ValueID{p.in[0]}, Outputs: []infer.ValueID{p.out[0]}},
		mixer: &weights,
	}}
	return true
}

// matcher walks from a value to what it is computed from. Once something does not fit it has failed, and goes on with nothing.
type matcher struct {
	p      *program
	l      links
	failed bool
}

var nothing = op{Node: infer.Node{Inputs: []infer.ValueID{0, 0}, Outputs: []infer.ValueID{0}}}

// expect notes what does not fit.
func (m *matcher) expect(fits bool) bool {
	m.failed = m.failed || !fits
	return fits
}

// up is the operator that writes a value.
func (m *matcher) up(kind infer.Op, id infer.ValueID) *op {
	if m.failed || !m.expect(m.l.writer[id] >= 0) {
		return &nothing
	}
	o := &m.p.ops[m.l.writer[id]]
	if !m.expect(o.Op == kind) {
		return &nothing
	}
	return o
}

// plain is up for an operator with nothing behind it.
func (m *matcher) plain(kind infer.Op, id infer.ValueID) *op {
	o := m.up(kind, id)
	m.expect(o.act == nn.None)
	return o
}

// is says what writes a value.
func (m *matcher) is(kind infer.Op, id infer.ValueID) bool {
	return !m.failed && m.l.writer[id] >= 0 && m.p.ops[m.l.writer[id]].Op == kind
}

// constant is the data of a constant of some length.
func (m *matcher) constant(id infer.ValueID, n int) []float32 {
	data := m.p.values[id].Data
	if !m.expect(!m.failed && n > 0 && len(data) == n) {
		return make([]float32, 1)
	}
	return data
}

// dense is a 1×1 convolution; x is what it reads.
func (m *matcher) dense(id infer.ValueID, act nn.Activation) (x infer.ValueID, t nn.MixerDense) {
	o := m.up(infer.Conv2D, id)
	if !m.expect(!m.failed && m.p.isPointwise(o) && o.act == act) {
		return 0, t
	}
	return o.Inputs[0], nn.MixerDense{W: o.weights, Bias: m.p.biasOf(o)}
}

// swapped is a transposition of the last two axes.
func (m *matcher) swapped(id infer.ValueID) infer.ValueID {
	o := m.plain(infer.Transpose, id)
	m.expect(slices.Equal(o.Perm, []int{0, 1, 3, 2}))
	return o.Inputs[0]
}

// over is a reduction that keeps an axis of one element.
func (m *matcher) over(kind infer.Op, id infer.ValueID, axis int) infer.ValueID {
	o := m.plain(kind, id)
	m.expect(o.KeepDims && slices.Equal(o.Axes, []int{axis}))
	return o.Inputs[0]
}

// operands are the two operands of an operator for which their order does not count, the second as wanted.
func (m *matcher) operands(kind infer.Op, id infer.ValueID, second func(infer.ValueID) bool) (a, b infer.ValueID) {
	o := m.plain(kind, id)
	a, b = o.Inputs[0], o.Inputs[1]
	if !m.failed && !second(b) {
		a, b = b, a
	}
	m.expect(!m.failed && second(b))
	return a, b
}

func (m *matcher) isConstant(id infer.ValueID) bool { return m.p.isConstant(id) }
