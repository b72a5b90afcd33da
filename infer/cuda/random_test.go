package gpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"facetrack/infer"
)

// grow adds a random operator on values that are there, and returns its result.
func grow(b *net, r *rand.Rand, values []infer.ValueID) infer.ValueID {
	x := values[r.IntN(len(values))]
	s := b.shape(x)
	acts := []infer.Activation{plain, relu, prelu, infer.Relu6Activation}
	act := acts[r.IntN(len(acts))]
	switch r.IntN(12) {
	case 0:
		return b.conv(x, 1+r.IntN(9), 1+2*r.IntN(2), 1+r.IntN(2), 1, act)
	case 1, 2:
		return b.conv(x, 1+r.IntN(9), 1, 1, 1, act)
	case 3:
		return b.depth(x, 1+r.IntN(2), act)
	case 4:
		if s[1] > 1 && s[2] > 1 {
			return b.pool(x)
		}
		return b.op(infer.Neg, x)
	case 5:
		return b.widen(x, 1+r.IntN(3))
	case 6:
		if s[1]*s[2] < 100 {
			return b.enlarge(x, 2)
		}
		return b.op(infer.Logistic, x)
	case 7:
		return b.reshape(x, s[0], s[2], s[1], s[3])
	case 8:
		return b.concat(1+r.IntN(2), x, x)
	case 9:
		return b.node(infer.Node{Op: infer.StridedSlice, Begin: make([]int, 4), End: s, Steps: []int{1, 1, 1, 2}}, x)
	case 10:
		return b.op(infer.Mul, x, b.random(1, s[3]))
	}
	for _, y := range values { // two values of one shape
		if y != x && fmt.Sprint(b.shape(y)) == fmt.Sprint(s) {
			if r.IntN(3) == 0 {
				return b.concat(r.IntN(4), x, y)
			}
			return b.add(x, y, act)
		}
	}
	return b.add(x, x, act)
}

func randomGraph(seed uint64) *infer.Graph {
	b, r := newNet(), rand.New(rand.NewPCG(seed, 7))
	values := []infer.ValueID{b.input(1, 4+r.IntN(5), 4+r.IntN(5), 1+r.IntN(9))}
	for range 4 + r.IntN(12) {
		values = append(values, grow(b, r, values))
	}
	outputs := values[len(values)-1:]
	if len(values) > 6 && r.IntN(2) == 0 {
		outputs = append([]infer.ValueID{values[len(values)-3]}, outputs...)
	}
	return b.outputs(outputs...)
}

// Whatever is fused, shares memory or is computed in the place of something else: the results are those of the operators one by one.
func TestRandomGraphs(t *testing.T) {
	whole := newBench(t)
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			b, g := whole.on(t), randomGraph(seed)
			for precision, tolerance := range map[string]float64{infer.FP32: exact, infer.FP16: 4 * rough} {
				n := b.network(g, Options{Precision: precision, Raw: seed%3 == 0})
				in, out := inputs(n, 2, seed), blank(n.Outputs(), 2)
				b.must(b.exec(n, 2).Run(2, in, out))
				if compare(t, out, expected(t, g, 2, in), tolerance); t.Failed() {
					t.Fatalf("%s: %q", precision, n.Steps())
				}
			}
		})
	}
}
