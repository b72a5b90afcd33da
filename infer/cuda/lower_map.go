package gpu

import (
	"slices"

	"facetrack/infer"
	"facetrack/infer/internal/kernel"
	"facetrack/internal/cuda"
	"facetrack/internal/kernels/nn"
)

// copy writes what one view shows to where another shows, in the precision that is there.
func (l *planner) copy(o *op, kind string, from, to view, act nn.Activation) {
	l.add(o, kind, func(r *run) error {
		return r.set.Move(r.stream, from.shape, r.view(from), r.view(to), act, r.batch)
	}, from.ref, to.ref)
}

// convert makes float16 of float32.
func convert(set *nn.Set, stream *cuda.Stream, from, to uint64, n int) error {
	view := func(address uint64, p nn.Precision) nn.View {
		return nn.View{Address: address, Precision: p, Strides: []int{1}}
	}
	return set.Move(stream, []int{n}, view(from, nn.F32), view(to, nn.F16), nn.None, 1)
}

var binaryOps = map[infer.Op]nn.BinaryOp{
	infer.Add: nn.Add, infer.Sub: nn.Sub, infer.Mul: nn.Mul, infer.Div: nn.Div, infer.SquaredDifference: nn.SquaredDifference,
}

// binary is arithmetic between two operands that broadcast.
func (l *planner) binary(o *op) error {
	out := l.shape(o.out())
	from, to := [2]kernel.View{}, kernel.Dense(out)
	for k, id := range o.Inputs {
		from[k] = kernel.Broadcast(l.shape(id), out)
	}
	for k, scale := range o.scale {
		if scale[0] > 0 { // then the other has the shape of the result
			from[k] = enlarged(l.shape(o.Inputs[k]), scale)
			to = kernel.Dense(from[k].Shape)
			from[1-k] = to
		}
	}
	a, b := l.view(l.source(o.Inputs[0]), from[0]), l.view(l.source(o.Inputs[1]), from[1])
	y, act := l.view(l.home(o.out()), to), o.act
	if act == nn.PRelu {
		act = nn.None
	}
	l.arithmetic(o, binaryOps[o.Op], a, b, y, act)
	if o.act == nn.PRelu {
		y = l.whole(y.ref, o.out())
		l.arithmetic(o, nn.Slope, y, l.slopes(o), y, nn.None)
	}
	return nil
}

func (l *planner) arithmetic(o *op, kind nn.BinaryOp, a, b, y view, act nn.Activation) {
	l.add(o, "binary", func(r *run) error {
		return r.set.Binary(r.stream, kind, y.shape, r.view(a), r.view(b), r.view(y), act, r.batch)
	}, a.ref, b.ref, y.ref)
}

// slopes shows one number for each channel of an operator's result.
func (l *planner) slopes(o *op) view {
	data := o.slope
	x := l.constant(func(*nn.Set) ([]byte, error) { return encode(nil, data, nn.F32), nil })
	return l.view(x, kernel.Broadcast([]int{len(data)}, l.shape(o.out())))
}

var unaryOps = map[infer.Op]nn.UnaryOp{infer.Neg: nn.Neg, infer.Sqrt: nn.Sqrt, infer.Rsqrt: nn.Rsqrt}

// unary is a function of one operand.
func (l *planner) unary(o *op) error {
	x, y := l.whole(l.source(o.Inputs[0]), o.Inputs[0]), l.whole(l.home(o.out()), o.out())
	switch o.Op {
	case infer.Relu:
		l.copy(o, "unary", x, y, nn.Relu)
	case infer.Logistic:
		l.copy(o, "unary", x, y, nn.Logistic)
	case infer.PRelu:
		l.arithmetic(o, nn.Slope, x, l.slopes(o), y, nn.None)
	default:
		kind := unaryOps[o.Op]
		l.add(o, "unary", func(r *run) error {
			return r.set.Unary(r.stream, kind, x.shape, r.view(x), r.view(y), nn.None, r.batch)
		}, x.ref, y.ref)
	}
	return nil
}

// reduce adds up along axes.
func (l *planner) reduce(o *op) error {
	id := o.Inputs[0]
	x, y := l.whole(l.source(id), id), l.whole(l.home(o.out()), o.out())
	var kept, summed, outer, inner []int
	for a, d := range x.shape {
		if slices.Contains(o.Axes, a) {
			summed, inner = append(summed, d), append(inner, x.strides[a])
		} else {
			kept, outer = append(kept, d), append(outer, x.strides[a])
		}
	}
	x.strides = append(outer, inner...)
	scale := float32(1)
	if o.Op == infer.Mean {
		scale = float32(l.len(o.out())) / float32(l.len(id))
	}
	l.add(o, "reduce", func(r *run) error {
		return r.set.Reduce(r.stream, kept, summed, r.view(x), r.view(y), scale, nn.None, r.batch)
	}, x.ref, y.ref)
	return nil
}
