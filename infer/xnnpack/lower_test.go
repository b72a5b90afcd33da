//go:build xnnpack

package xnnpack

import (
	"slices"
	"testing"

	"facetrack/infer"
)

// ops lists what a graph is lowered to.
func ops(g *infer.Graph) []infer.Op {
	var list []infer.Op
	for _, n := range lower(g).nodes {
		list = append(list, n.Op)
	}
	return list
}

// TestLowering holds the fusions that the speed depends on.
func TestLowering(t *testing.T) {
	cases := map[string]struct {
		graph func(b *net) *infer.Graph
		want  []infer.Op
	}{
		"normalisation is one node": {func(b *net) *infer.Graph {
			return b.outputs(b.normalize(b.input(1, 1, 13, 16)))
		}, []infer.Op{layerNorm}},
		"normalisation whose mean is read elsewhere is not": {func(b *net) *infer.Graph {
			out := b.normalize(b.input(1, 1, 3, 16))
			return b.outputs(out, b.g.Nodes[0].Outputs[0])
		}, []infer.Op{infer.Mean, infer.SquaredDifference, infer.Mean, infer.Add, infer.Rsqrt, infer.Mul, infer.Neg, infer.Mul, infer.Mul, addPRelu}},
		"a separable block is one node": {func(b *net) *infer.Graph {
			x := b.input(1, 8, 8, 16)
			y := b.conv(b.pad(x, []int{0, 1, 1, 0}, []int{0, 1, 1, 0}), 16, 3, 1, [4]int{}, -1, infer.PReluActivation)
			return b.outputs(b.addPRelu(b.conv(y, 16, 1, 1, [4]int{}, 1, infer.NoActivation), x))
		}, []infer.Op{pointwise}},
		"a depthwise result with two readers stays": {func(b *net) *infer.Graph {
			y := b.conv(b.input(1, 8, 8, 16), 16, 3, 1, [4]int{}, -1, infer.NoActivation)
			return b.outputs(b.conv(y, 16, 1, 1, [4]int{}, 1, infer.NoActivation), y)
		}, []infer.Op{depthwise, pointwise}},
		"pooling joins a depthwise convolution": {func(b *net) *infer.Graph {
			y := b.conv(b.input(1, 8, 8, 16), 16, 3, 1, [4]int{1, 1, 1, 1}, -1, infer.ReluActivation)
			return b.outputs(b.maxPool(y, 2, 2, [4]int{}))
		}, []infer.Op{depthwisePool}},
		"an upsampled addition is one node": {func(b *net) *infer.Graph {
			x, y := b.input(1, 6, 10, 18), b.input(1, 3, 5, 18)
			return b.outputs(b.binary(infer.Add, x, b.resize(y, 2, 2), infer.NoActivation))
		}, []infer.Op{infer.ResizeNearest}},
		"narrow heads are one": {func(b *net) *infer.Graph {
			x, outs := b.input(1, 4, 4, 16), []infer.ValueID{}
			for _, channels := range []int{10, 6} {
				y := b.conv(x, channels, 1, 1, [4]int{}, 1, infer.NoActivation)
				outs = append(outs, b.conv(y, channels, 3, 1, [4]int{1, 1, 1, 1}, -1, infer.NoActivation))
			}
			return b.outputs(outs...)
		}, []infer.Op{pointwise, depthwise, infer.StridedSlice, infer.StridedSlice}},
		"reshapes cost nothing": {func(b *net) *infer.Graph {
			x := b.reshape(b.unary(infer.Neg, b.input(1, 6, 4)), 24)
			return b.outputs(b.transpose(b.reshape(x, 1, 24, 1), 2, 0, 1))
		}, []infer.Op{infer.Neg}},
	}
	for name, c := range cases {
		if got := ops(c.graph(newNet())); !slices.Equal(got, c.want) {
			t.Errorf("%s: lowered to %v, want %v", name, got, c.want)
		}
	}
}

// TestDirect: only an input that is gathered may be read where the caller has it, for other kernels read past its end.
func TestDirect(t *testing.T) {
	stem := func(b *net, x infer.ValueID) infer.ValueID {
		return b.conv(x, 16, 3, 2, [4]int{0, 0, 1, 1}, 1, infer.ReluActivation)
	}
	cases := map[string]struct {
		graph func(b *net) *infer.Graph
		want  bool
	}{
		"a stem":    {func(b *net) *infer.Graph { return b.outputs(stem(b, b.input(1, 8, 8, 3))) }, true},
		"two stems": {func(b *net) *infer.Graph { x := b.input(1, 8, 8, 3); return b.outputs(stem(b, x), stem(b, x)) }, true},
		"another reader": {func(b *net) *infer.Graph {
			x := b.input(1, 8, 8, 3)
			return b.outputs(stem(b, x), b.unary(infer.Neg, x))
		}, false},
		"input is output": {func(b *net) *infer.Graph { x := b.input(1, 8, 8, 3); return b.outputs(stem(b, x), x) }, false},
		"through a reshape": {func(b *net) *infer.Graph {
			return b.outputs(stem(b, b.reshape(b.input(1, 64, 3), 1, 8, 8, 3)))
		}, false},
		"no stem": {func(b *net) *infer.Graph { return b.outputs(b.conv(b.input(1, 4, 4, 3), 16, 1, 1, [4]int{}, 1, 0)) }, false},
		"two inputs": {func(b *net) *infer.Graph {
			return b.outputs(stem(b, b.input(1, 8, 8, 3)), b.unary(infer.Neg, b.input(2)))
		}, false},
	}
	for name, c := range cases {
		g := c.graph(newNet())
		if got := lower(g).direct(); got != c.want {
			t.Errorf("%s: direct is %v, want %v", name, got, c.want)
		}
		checkGraph(t, g, infer.Options{})
	}
}
