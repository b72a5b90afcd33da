package gpu

import (
	"fmt"

	"facetrack/infer"
	"facetrack/infer/internal/kernel"
	"facetrack/internal/kernels/nn"
)

// lower appends the steps of an operator.
func (l *planner) lower(o *op) error {
	switch o.Op {
	case infer.Conv2D:
		return l.conv(o)
	case infer.MaxPool2D:
		return l.pool(o)
	case mixerOp:
		return l.mixer(o)
	case infer.Add, infer.Sub, infer.Mul, infer.Div, infer.SquaredDifference:
		return l.binary(o)
	case infer.Neg, infer.Sqrt, infer.Rsqrt, infer.Logistic, infer.Relu, infer.PRelu:
		return l.unary(o)
	case infer.Mean, infer.Sum:
		return l.reduce(o)
	case infer.Concat:
		return l.concat(o)
	case infer.Reshape:
		if l.places[o.out()].root == l.places[o.Inputs[0]].root {
			return nil
		}
	case infer.Transpose, infer.StridedSlice, infer.Pad, infer.ResizeNearest:
	default:
		return fmt.Errorf("this backend has no such operator")
	}
	return l.move(o)
}

// lowerAt appends the steps of an operator, which may be in a chain.
func (l *planner) lowerAt(i int, c *chain) error {
	switch {
	case c == nil:
		return l.lower(&l.ops[i])
	case c.ops[0] == i:
		return l.chain(c)
	}
	return nil
}

// move copies what an operator takes of its operand to where it puts it.
func (l *planner) move(o *op) error {
	id := o.Inputs[0]
	shape, out := l.shape(id), l.shape(o.out())
	from, to := kernel.Dense(shape), kernel.Dense(out)
	switch o.Op {
	case infer.Reshape:
		from = kernel.Dense(out)
	case infer.Transpose:
		from = from.Transpose(o.Perm)
	case infer.StridedSlice:
		from = from.Window(o.Begin, o.Steps, out)
	case infer.ResizeNearest:
		from = enlarged(shape, o.Scale)
		to = kernel.Dense(from.Shape)
	case infer.Pad:
		to = to.Window(o.Before, ones(len(shape)), shape)
	}
	y, finish := l.home(o.out()), func() {}
	if o.Op == infer.Pad {
		y, finish = l.target(o, l.kept[o.out()], false, false)
		l.clear(o, y)
	}
	l.copy(o, "move", l.view(l.source(id), from), l.view(y, to), o.act)
	finish()
	return nil
}

// concat copies the parts that are not computed in their place.
func (l *planner) concat(o *op) error {
	y := l.home(o.out())
	begin := make([]int, len(l.shape(o.out())))
	for _, id := range o.Inputs {
		shape := l.shape(id)
		if l.isConstant(id) || l.places[id].root != l.places[o.out()].root {
			to := kernel.Dense(l.shape(o.out())).Window(begin, ones(len(shape)), shape)
			l.copy(o, "concat", l.whole(l.source(id), id), l.view(y, to), nn.None)
		}
		begin[o.Axis] += shape[o.Axis]
	}
	return nil
}

// clear sets a whole buffer to zero.
func (l *planner) clear(o *op, y ref) {
	b := l.plan.buffers[y.buffer]
	l.add(o, "clear", func(r *run) error {
		return r.stream.Fill(r.at(y), 0, int64(r.batch*b.len*b.precision.Bytes()))
	}, y)
}

func ones(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = 1
	}
	return out
}
