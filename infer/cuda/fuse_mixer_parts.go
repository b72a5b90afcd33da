package gpu

import (
	"slices"

	"facetrack/infer"
	"facetrack/internal/kernels/nn"
)

// mixer matches from the output to the input.
func (m *matcher) mixer(in, out infer.ValueID) (w nn.MixerWeights) {
	x := out
	if m.is(infer.Reshape, x) {
		x = m.up(infer.Reshape, x).Inputs[0]
	}
	x, w.Head = m.dense(m.plain(infer.Logistic, x).Inputs[0], nn.None)
	x = m.firstToken(x)
	tokens := m.p.shape(x)
	for !m.failed && !m.is(infer.Concat, x) {
		var layer nn.MixerLayer
		layer, x = m.layer(x)
		w.Layers = append(w.Layers, layer)
	}
	slices.Reverse(w.Layers)
	x = m.embedding(&w, x)
	points := m.p.shape(in)
	m.expect(x == in && slices.Equal(tokens, []int{1, 1, len(w.Expand.Bias) + 1, len(w.Embed.Bias)}) &&
		slices.Equal(points, []int{1, len(w.Expand.W) / max(len(w.Expand.Bias), 1), 2}))
	return w
}

// firstToken looks through slices that leave the first token.
func (m *matcher) firstToken(id infer.ValueID) infer.ValueID {
	x := id
	for m.is(infer.StridedSlice, x) {
		o := m.plain(infer.StridedSlice, x)
		from, to := m.p.shape(o.Inputs[0]), m.p.shape(x)
		m.expect(len(from) == 4 && !slices.ContainsFunc(o.Begin, func(b int) bool { return b != 0 }) &&
			slices.Equal(from[:2], to[:2]) && from[3] == to[3])
		x = o.Inputs[0]
	}
	m.expect(!m.failed && len(m.p.shape(id)) == 4 && m.p.shape(id)[2] == 1)
	return x
}

// layer matches both blocks of a layer; x is what the layer reads.
func (m *matcher) layer(id infer.ValueID) (layer nn.MixerLayer, x infer.ValueID) {
	layer.Channels, x = m.block(id, false)
	layer.Tokens, x = m.block(x, true)
	return layer, x
}

// block matches x + out(relu(in(norm(x)))), in and out across the tokens if turned.
func (m *matcher) block(id infer.ValueID, turned bool) (b nn.MixerBlock, x infer.ValueID) {
	sum := m.plain(infer.Add, id)
	for k := range 2 { // x is one operand or the other
		try := *m
		if b, x = try.branch(sum.Inputs[k], turned); !try.failed && x == sum.Inputs[1-k] {
			return b, x
		}
	}
	m.failed = true
	return b, 0
}

func (m *matcher) branch(id infer.ValueID, turned bool) (b nn.MixerBlock, x infer.ValueID) {
	if turned {
		id = m.swapped(id)
	}
	id, b.Out = m.dense(id, nn.None)
	id, b.In = m.dense(id, nn.Relu)
	if turned {
		id = m.swapped(id)
	}
	b.Gamma, b.Epsilon, x = m.norm(id)
	return b, x
}

// norm matches a layer normalisation over the channels: x*f - mean(x)*f, f = gamma / sqrt(variance + epsilon).
func (m *matcher) norm(id infer.ValueID) (gamma []float32, epsilon float32, x infer.ValueID) {
	scaled, shift := m.operands(infer.Add, id, m.isNegated)
	factor, negated := m.operands(infer.Mul, shift, func(id infer.ValueID) bool { return m.is(infer.Neg, id) })
	x, _ = m.operands(infer.Mul, scaled, func(id infer.ValueID) bool { return id == factor })
	mean := m.plain(infer.Neg, negated).Inputs[0]
	m.expect(m.over(infer.Mean, mean, 3) == x)
	root, g := m.operands(infer.Mul, factor, m.isConstant)
	variance, e := m.operands(infer.Add, m.plain(infer.Rsqrt, root).Inputs[0], m.isConstant)
	of, _ := m.operands(infer.SquaredDifference, m.over(infer.Mean, variance, 3), func(id infer.ValueID) bool { return id == mean })
	m.expect(of == x)
	if m.failed {
		return nil, 0, 0
	}
	shape := m.p.shape(x)
	return m.constant(g, shape[len(shape)-1]), m.constant(e, 1)[0], x
}

// isNegated says that a value is the product of something and a negated value.
func (m *matcher) isNegated(id infer.ValueID) bool {
	return m.is(infer.Mul, id) && slices.ContainsFunc(m.up(infer.Mul, id).Inputs, func(id infer.ValueID) bool { return m.is(infer.Neg, id) })
}

// embedding matches what makes tokens of points; x is the points.
func (m *matcher) embedding(w *nn.MixerWeights, id infer.ValueID) (x infer.ValueID) {
	join := m.plain(infer.Concat, id)
	if !m.expect(len(join.Inputs) == 2 && join.Axis == 2) {
		return 0
	}
	id, w.Embed = m.dense(join.Inputs[1], nn.None)
	w.Token = m.constant(join.Inputs[0], len(w.Embed.Bias))
	id, w.Expand = m.dense(m.swapped(id), nn.None)
	normed, scale := m.operands(infer.Mul, m.swapped(id), m.isConstant)
	w.Scale = m.constant(scale, 1)[0]
	div := m.plain(infer.Div, m.plain(infer.Reshape, normed).Inputs[0])
	centred := div.Inputs[0]
	length := m.plain(infer.Sqrt, m.over(infer.Mean, div.Inputs[1], 1)).Inputs[0]
	square := m.plain(infer.Mul, m.over(infer.Sum, length, 2))
	m.expect(square.Inputs[0] == centred && square.Inputs[1] == centred)
	sub := m.plain(infer.Sub, centred)
	x = sub.Inputs[0]
	m.expect(m.over(infer.Mean, sub.Inputs[1], 1) == x)
	return x
}
