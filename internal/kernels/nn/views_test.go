package nn

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// seen is a view of a test: its values on the host, which lie on the device from Address on.
type seen struct {
	View
	values []float32
}

// show makes a random view of a shape: its axes in any order, one perhaps repeated, gaps between elements, room between items.
func (r *rig) show(rnd *rand.Rand, shape []int, batch int, writable bool) seen {
	r.Helper()
	v := View{Precision: Precision(rnd.IntN(2)), Strides: make([]int, len(shape))}
	length := 1 + rnd.IntN(2)
	for _, axis := range rnd.Perm(len(shape)) {
		if !writable && rnd.IntN(4) == 0 {
			continue // repeated
		}
		v.Strides[axis] = length
		length *= shape[axis]
	}
	if writable || rnd.IntN(3) > 0 {
		v.Item = length + rnd.IntN(3)
	}
	s := seen{v, random(rnd, v.Precision, v.Item*(batch-1)+length+1, 1)}
	for i, x := range s.values {
		s.values[i] = float32(math.Abs(float64(x))) + 0.125 // so that all operators are defined
		if rnd.IntN(3) == 0 {
			s.values[i] = -s.values[i]
		}
	}
	data := encode(v.Precision, s.values)
	s.values = decode(v.Precision, data)
	s.Address = r.take(len(data), 0)
	r.upload(s.Address, data)
	return s
}

func (s *seen) at(item int, index []int) int {
	n := item * s.Item
	for i, k := range index {
		n += k * s.Strides[i]
	}
	return n
}

// indices are all of a shape.
func indices(shape []int) [][]int {
	all := [][]int{nil}
	for _, n := range shape {
		var more [][]int
		for _, a := range all {
			for i := range n {
				more = append(more, append(slices.Clone(a), i))
			}
		}
		all = more
	}
	return all
}

func activation(act Activation, v float64) float64 {
	switch act {
	case Relu:
		return max(v, 0)
	case Relu6:
		return min(max(v, 0), 6)
	case Logistic:
		return 1 / (1 + math.Exp(-v))
	}
	return v
}

// expect compares what is in a view now with what it had and what should have been written.
func (r *rig) expect(y seen, what string) {
	r.Helper()
	got := decode(y.Precision, r.download(y.Address, len(y.values)*y.Precision.Bytes()))
	bound := 1e-5
	if y.Precision == F16 {
		bound = 1e-3 // half of the last place, and float32 sums before it
	}
	for i, want := range y.values {
		if off := math.Abs(float64(got[i] - want)); !(off <= bound*(1+math.Abs(float64(want)))) {
			r.Fatalf("%s: element %d is %v, want %v", what, i, got[i], want)
		}
	}
}

var viewShapes = [][]int{{1}, {7}, {300}, {3, 5}, {1, 4, 1, 6}, {2, 3, 4, 2}, {2, 1, 3, 2, 2}, {2, 2, 3, 1, 2, 3}}

var viewActs = []Activation{None, Relu, Relu6, Logistic}

func TestMoveAndUnary(t *testing.T) {
	r, rnd := newRig(t), rand.New(rand.NewPCG(1, 2))
	for n := range 40 {
		r.taken = 0
		shape, batch, act, op := viewShapes[n%len(viewShapes)], 1+n%3, viewActs[rnd.IntN(4)], UnaryOp(rnd.IntN(5))
		x, y := r.show(rnd, shape, batch, false), r.show(rnd, shape, batch, true)
		if op == Sqrt || op == Rsqrt {
			for i, v := range x.values {
				x.values[i] = float32(math.Abs(float64(v)))
			}
			r.upload(x.Address, encode(x.Precision, x.values))
		}
		if op > Copy {
			r.must(r.set.Move(r.stream, shape, x.View, y.View, act, batch))
		} else {
			r.must(r.set.Unary(r.stream, op, shape, x.View, y.View, act, batch))
		}
		for item := range batch {
			for _, i := range indices(shape) {
				v := float64(x.values[x.at(item, i)])
				switch op {
				case Neg:
					v = -v
				case Sqrt:
					v = math.Sqrt(v)
				case Rsqrt:
					v = 1 / math.Sqrt(v)
				}
				y.values[y.at(item, i)] = float32(activation(act, v))
			}
		}
		r.expect(y, "unary")
	}
}

func TestBinary(t *testing.T) {
	r, rnd := newRig(t), rand.New(rand.NewPCG(3, 4))
	for n := range 48 {
		r.taken = 0
		shape, batch, act, op := viewShapes[n%len(viewShapes)], 1+n%3, viewActs[rnd.IntN(4)], BinaryOp(n%6)
		a, b, y := r.show(rnd, shape, batch, false), r.show(rnd, shape, batch, false), r.show(rnd, shape, batch, true)
		r.must(r.set.Binary(r.stream, op, shape, a.View, b.View, y.View, act, batch))
		for item := range batch {
			for _, i := range indices(shape) {
				p, q := float64(a.values[a.at(item, i)]), float64(b.values[b.at(item, i)])
				v := map[BinaryOp]float64{Add: p + q, Sub: p - q, Mul: p * q, Div: p / q, SquaredDifference: (p - q) * (p - q), Slope: max(p, 0) + min(p, 0)*q}[op]
				y.values[y.at(item, i)] = float32(activation(act, v))
			}
		}
		r.expect(y, "binary")
	}
}

func TestReduce(t *testing.T) {
	r, rnd := newRig(t), rand.New(rand.NewPCG(5, 6))
	for n := range 30 {
		r.taken = 0
		kept, summed := viewShapes[n%len(viewShapes)], viewShapes[rnd.IntN(len(viewShapes))]
		if len(kept)+len(summed) > 7 {
			summed = []int{40}
		}
		batch, act, scale := 1+n%3, viewActs[rnd.IntN(4)], float32(0.25)
		both := append(slices.Clone(kept), summed...)
		x, y := r.show(rnd, both, batch, false), r.show(rnd, []int{elements(kept)}, batch, true)
		y.Strides = []int{1}
		r.must(r.set.Reduce(r.stream, kept, summed, x.View, y.View, scale, act, batch))
		for item := range batch {
			for k, i := range indices(kept) {
				sum := 0.0
				for _, j := range indices(summed) {
					sum += float64(x.values[x.at(item, append(slices.Clone(i), j...))])
				}
				y.values[item*y.Item+k] = float32(activation(act, sum*float64(scale)))
			}
		}
		r.expect(y, "reduce")
	}
}

func TestViewsThatNoKernelTakes(t *testing.T) {
	r := newRig(t)
	at := View{Address: r.take(64, 0), Strides: []int{1}}
	seven := View{Address: at.Address, Strides: make([]int, 7)}
	for what, err := range map[string]error{
		"seven axes":       r.set.Move(r.stream, []int{1, 1, 1, 1, 1, 1, 1}, seven, seven, None, 1),
		"no batch":         r.set.Move(r.stream, []int{4}, at, at, None, 0),
		"an empty axis":    r.set.Move(r.stream, []int{0}, at, at, None, 1),
		"too few strides":  r.set.Binary(r.stream, Add, []int{2, 2}, at, at, at, None, 1),
		"a slope":          r.set.Unary(r.stream, Neg, []int{4}, at, at, PRelu, 1),
		"no such operator": r.set.Binary(r.stream, Slope+1, []int{4}, at, at, at, None, 1),
		"a sum of nothing": r.set.Reduce(r.stream, []int{4}, []int{0}, View{Address: at.Address, Strides: []int{1, 1}}, at, 1, None, 1),
		"too far":          r.set.Move(r.stream, []int{1 << 20}, View{Address: at.Address, Strides: []int{1 << 20}}, at, None, 1),
	} {
		if !errors.Is(err, ErrShape) {
			t.Errorf("%s: %v", what, err)
		}
	}
	odd := View{Address: at.Address + 1, Precision: F16, Strides: []int{1}}
	if err := r.set.Move(r.stream, []int{4}, odd, at, None, 1); !errors.Is(err, ErrAlign) {
		t.Errorf("an odd address: %v", err)
	}
}
