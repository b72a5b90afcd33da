package nn

import (
	"fmt"

	"facetrack/internal/cuda"
)

// Axes is the most axes that a view has beside the batch.
const Axes = 6

// View addresses elements: the one with index (i0, i1, …) of a shape lies Σ i×Strides behind Address, counted in elements. A stride of 0
// repeats an element. Item is how much further the next item of a batch lies; 0 for what all items share.
type View struct {
	Address   uint64
	Precision Precision
	Strides   []int
	Item      int
}

// Dense are the strides of a shape whose elements lie one behind the other.
func Dense(shape []int) []int {
	strides := make([]int, len(shape))
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = n
		n *= shape[i]
	}
	return strides
}

func elements(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// check says whether a kernel reaches all that a view shows.
func (v View) check(shape []int, batch int) error {
	if len(v.Strides) != len(shape) {
		return shapeError("%d strides for the shape %v", len(v.Strides), shape)
	}
	if v.Address%uint64(v.Precision.Bytes()) != 0 {
		return ErrAlign
	}
	last := v.Item * (batch - 1)
	for i, s := range v.Strides {
		if s < 0 || v.Item < 0 {
			return shapeError("strides %v, item %d", v.Strides, v.Item)
		}
		last += s * (shape[i] - 1)
	}
	if last > mostIndex {
		return shapeError("a batch of %d views of %v with strides %v", batch, shape, v.Strides)
	}
	return nil
}

func checkViews(shape []int, batch int, act Activation, views ...View) error {
	if len(shape) > Axes || batch < 1 || batch > mostItems {
		return shapeError("a batch of %d of the shape %v", batch, shape)
	}
	if act == PRelu || act > Logistic {
		return shapeError("activation %d", act)
	}
	for _, d := range shape {
		if d < 1 || d > mostIndex {
			return shapeError("the shape %v", shape)
		}
	}
	if elements(shape) > mostElements {
		return shapeError("the shape %v", shape)
	}
	for _, v := range views {
		if err := v.check(shape, batch); err != nil {
			return err
		}
	}
	return nil
}

const (
	mostItems    = 65535   // of a grid's second axis
	mostElements = 1 << 30 // of an item
)

// axes appends six numbers for a kernel; axes that are missing come first.
func axes(args []any, values []int, missing int) []any {
	for range Axes - len(values) {
		args = append(args, uint32(missing)) //nolint:gosec // 0 or 1
	}
	for _, v := range values {
		args = append(args, uint32(v)) //nolint:gosec // checked before
	}
	return args
}

func flag(p Precision, bit uint32) uint32 {
	if p == F16 {
		return bit
	}
	return 0
}

// views queues a kernel with a thread for each element.
func (s *Set) views(stream *cuda.Stream, name string, n, batch int, args ...any) error {
	const threads = 256
	return s.launch(stream, name, cuda.Dim{X: (n + threads - 1) / threads, Y: batch}, cuda.Dim{X: threads}, 0, args...)
}

// Move queues to[index] = act(from[index]) for every index of a shape. It converts between precisions.
func (s *Set) Move(stream *cuda.Stream, shape []int, from, to View, act Activation, batch int) error {
	if err := checkViews(shape, batch, act, from, to); err != nil {
		return fmt.Errorf("move: %w", err)
	}
	w := newWalk(shape, from, to)
	n := elements(w.shape)
	args := []any{from.Address, to.Address, uint32(n), uint32(from.Item), uint32(to.Item), flag(from.Precision, 1) | flag(to.Precision, 2) | uint32(act)<<8}
	return s.views(stream, w.kernel("move_view"), n, batch, w.arguments(args)...)
}

// BinaryOp combines two elements.
type BinaryOp uint32

// The operators of Binary. Slope is a where it is not negative, else a×b.
const (
	Add BinaryOp = iota
	Sub
	Mul
	Div
	SquaredDifference
	Slope
)

// Binary queues y[index] = act(a[index] op b[index]) for every index of a shape. y may be a or b if their strides are equal.
func (s *Set) Binary(stream *cuda.Stream, op BinaryOp, shape []int, a, b, y View, act Activation, batch int) error {
	if err := checkViews(shape, batch, act, a, b, y); err != nil {
		return fmt.Errorf("binary operator: %w", err)
	}
	if op > Slope {
		return shapeError("binary operator %d", op)
	}
	w := newWalk(shape, a, b, y)
	n := elements(w.shape)
	flags := flag(a.Precision, 1) | flag(b.Precision, 2) | flag(y.Precision, 4) | uint32(act)<<8 | uint32(op)<<16
	args := []any{a.Address, b.Address, y.Address, uint32(n), uint32(a.Item), uint32(b.Item), uint32(y.Item), flags}
	return s.views(stream, w.kernel("binary_view"), n, batch, w.arguments(args)...)
}

// UnaryOp changes an element.
type UnaryOp uint32

// The operators of Unary; Relu and Logistic are activations of Copy, as of Move.
const (
	Neg UnaryOp = iota
	Sqrt
	Rsqrt
	Copy
)

// Unary queues y[index] = act(op x[index]) for every index of a shape.
func (s *Set) Unary(stream *cuda.Stream, op UnaryOp, shape []int, x, y View, act Activation, batch int) error {
	if err := checkViews(shape, batch, act, x, y); err != nil {
		return fmt.Errorf("unary operator: %w", err)
	}
	if op > Copy {
		return shapeError("unary operator %d", op)
	}
	w := newWalk(shape, x, y)
	n := elements(w.shape)
	flags := flag(x.Precision, 1) | flag(y.Precision, 2) | uint32(act)<<8 | uint32(op)<<16
	args := []any{x.Address, y.Address, uint32(n), uint32(x.Item), uint32(y.Item), flags}
	return s.views(stream, w.kernel("unary_view"), n, batch, w.arguments(args)...)
}

// Reduce queues y[index] = act(scale × Σ x[index, k]) for every index of the shape kept, k running over the shape summed. The strides of x
// are those of kept, then those of summed. y is dense; its strides do not count.
func (s *Set) Reduce(stream *cuda.Stream, kept, summed []int, x, y View, scale float32, act Activation, batch int) error {
	y.Strides = Dense(kept)
	all := append(append([]int(nil), kept...), summed...)
	if len(kept) > Axes || len(summed) > Axes || len(x.Strides) != len(all) {
		return shapeError("sums over %v for each of %v with strides %v", summed, kept, x.Strides)
	}
	outer, inner := x, x
	outer.Strides, inner.Strides = x.Strides[:len(kept)], x.Strides[len(kept):]
	for shape, views := range map[*[]int][]View{&kept: {outer, y}, &summed: {inner}} {
		if err := checkViews(*shape, batch, act, views...); err != nil {
			return fmt.Errorf("reduction: %w", err)
		}
	}
	if err := x.check(all, batch); err != nil {
		return fmt.Errorf("reduction: %w", err)
	}
	n := elements(kept)
	flags := flag(x.Precision, 1) | flag(y.Precision, 2) | uint32(act)<<8
	args := []any{x.Address, y.Address, uint32(n), uint32(elements(summed)), uint32(x.Item), uint32(y.Item), flags, scale}
	args = axes(axes(axes(axes(args, kept, 1), outer.Strides, 0), summed, 1), inner.Strides, 0)
	return s.views(stream, "reduce_view", 32*n, batch, args...)
}
