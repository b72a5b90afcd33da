package gpu

import (
	"encoding/binary"
	"math"

	"facetrack/infer"
	"facetrack/internal/half"
	"facetrack/internal/kernels/nn"
)

// operand is where an operator reads a value in a precision. A value that is kept in the other one is converted, once.
func (l *planner) operand(o *op, id infer.ValueID, p nn.Precision) ref {
	if l.isConstant(id) {
		return l.constantOperand(id, p)
	}
	home := l.home(id)
	if l.plan.buffers[home.buffer].precision == p {
		return home
	}
	root := l.places[id].root
	k, ok := l.converted[root]
	if !ok {
		n := l.len(root)
		k = l.newBuffer(buffer{len: n, precision: p})
		l.converted[root] = k
		l.copy(o, "convert", l.list(ref{home.buffer, 0}, n), l.list(ref{k, 0}, n), nn.None)
	}
	return ref{k, home.offset}
}

// source is where a value is kept, for operators that take any precision.
func (l *planner) source(id infer.ValueID) ref {
	if l.isConstant(id) {
		return l.constantOperand(id, nn.F32)
	}
	return l.home(id)
}

// items is operand for operators that read one item after the other: a constant is repeated.
func (l *planner) items(o *op, id infer.ValueID, p nn.Precision) ref {
	x := l.operand(o, id, p)
	if !l.isConstant(id) {
		return x
	}
	n := l.len(id)
	y := ref{l.newBuffer(buffer{len: n, precision: p}), 0}
	l.copy(o, "repeat", l.list(x, n), l.list(y, n), nn.None)
	return y
}

// constantOperand puts a constant beside the weights.
func (l *planner) constantOperand(id infer.ValueID, p nn.Precision) ref {
	key := constantKey{id, p}
	k, ok := l.constants[key]
	if !ok {
		data := l.values[id].Data
		k = l.constant(func(*nn.Set) ([]byte, error) { return encode(nil, data, p), nil }).buffer
		l.plan.buffers[k].precision = p
		l.constants[key] = k
	}
	return ref{k, 0}
}

// target is where an operator that computes in a precision writes its result, one item after the other. finish, behind
// the operator's own step, brings the result home if that is elsewhere. Some operators can write float32 in any precision, some
// leave room between items.
func (l *planner) target(o *op, p nn.Precision, floats, gaps bool) (y ref, finish func()) {
	home, n := l.home(o.out()), l.len(o.out())
	b := l.plan.buffers[home.buffer]
	if (b.precision == p || floats && b.precision == nn.F32) && (b.len == n || gaps) {
		return home, func() {}
	}
	y = ref{l.newBuffer(buffer{len: n, precision: p}), 0}
	return y, func() { l.copy(o, "place", l.list(y, n), l.list(home, n), nn.None) }
}

// encode appends numbers as the device has them.
func encode(out []byte, data []float32, p nn.Precision) []byte {
	if p == nn.F16 {
		return half.Append(out, data...)
	}
	for _, v := range data {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out
}

// decode reads numbers as the device has them.
func decode(out []float32, data []byte, p nn.Precision) {
	if p == nn.F16 {
		half.Read(out, data)
		return
	}
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
}
