//go:build xnnpack

package xnnpack

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"facetrack/infer"
)

// tolerance is relative to the largest value of an output.
const tolerance = 1e-5

// opCases are graphs of one or a few nodes.
var opCases = map[string]func(b *net) *infer.Graph{
	"conv 1x1": func(b *net) *infer.Graph {
		return b.outputs(b.conv(b.input(1, 7, 9, 12), 20, 1, 1, [4]int{}, 1, infer.NoActivation))
	},
	"conv 1x1 stride 2": func(b *net) *infer.Graph {
		return b.outputs(b.conv(b.input(1, 7, 9, 12), 20, 1, 2, [4]int{}, 1, infer.NoActivation))
	},
	"conv 3x3 stride 2 asymmetric relu": func(b *net) *infer.Graph {
		return b.outputs(b.conv(b.input(1, 12, 16, 3), 16, 3, 2, [4]int{0, 0, 1, 1}, 1, infer.ReluActivation))
	},
	"conv 5x5 stride 2 asymmetric relu6": func(b *net) *infer.Graph {
		return b.outputs(b.conv(b.input(1, 16, 12, 3), 24, 5, 2, [4]int{1, 1, 2, 2}, 1, infer.Relu6Activation))
	},
	"conv 3x3 valid": func(b *net) *infer.Graph {
		return b.outputs(b.conv(b.input(1, 6, 6, 24), 31, 3, 1, [4]int{}, 1, infer.NoActivation))
	},
	"conv grouped": func(b *net) *infer.Graph {
		return b.outputs(b.conv(b.input(1, 6, 5, 8), 12, 3, 1, [4]int{1, 1, 1, 1}, 4, infer.NoActivation))
	},
	"conv without bias prelu": func(b *net) *infer.Graph {
		out := b.conv(b.input(1, 6, 5, 8), 12, 3, 1, [4]int{1, 0, 1, 2}, 1, infer.PReluActivation)
		n := &b.g.Nodes[0]
		n.Inputs = []infer.ValueID{n.Inputs[0], n.Inputs[1], n.Inputs[3]}
		return b.outputs(out)
	},
	"conv dilated": func(b *net) *infer.Graph {
		out := b.conv(b.input(1, 9, 9, 4), 8, 3, 1, [4]int{}, 1, infer.NoActivation)
		b.g.Nodes[0].Dilation, b.g.Values[out].Shape = [2]int{2, 2}, []int{1, 5, 5, 8}
		return b.outputs(out)
	},
	"depthwise 3x3": func(b *net) *infer.Graph {
		return b.outputs(b.conv(b.input(1, 9, 7, 19), 19, 3, 1, [4]int{1, 1, 1, 1}, -1, infer.NoActivation))
	},
	"depthwise 3x3 stride 2 asymmetric prelu": func(b *net) *infer.Graph {
		return b.outputs(b.conv(b.input(1, 10, 8, 32), 32, 3, 2, [4]int{0, 0, 1, 1}, -1, infer.PReluActivation))
	},
	"depthwise 5x5 relu": func(b *net) *infer.Graph {
		return b.outputs(b.conv(b.input(1, 9, 7, 17), 17, 5, 1, [4]int{2, 2, 2, 2}, -1, infer.ReluActivation))
	},
	"depthwise multiplier 2": func(b *net) *infer.Graph {
		return b.outputs(b.conv(b.input(1, 9, 7, 6), 12, 3, 1, [4]int{1, 1, 1, 1}, -1, infer.NoActivation))
	},
	"max pool 2x2": func(b *net) *infer.Graph {
		return b.outputs(b.maxPool(b.input(1, 8, 6, 5), 2, 2, [4]int{}))
	},
	"max pool 2x2 odd": func(b *net) *infer.Graph {
		return b.outputs(b.maxPool(b.input(1, 9, 7, 18), 2, 2, [4]int{}))
	},
	"max pool 2x2 behind depthwise": func(b *net) *infer.Graph {
		x := b.conv(b.input(1, 9, 15, 18), 18, 3, 1, [4]int{1, 1, 1, 1}, -1, infer.ReluActivation)
		return b.outputs(b.maxPool(x, 2, 2, [4]int{}))
	},
	"max pool 2x2 behind wide depthwise": func(b *net) *infer.Graph { // in several tiles
		x := b.conv(b.input(1, 4, 24, 160), 160, 3, 1, [4]int{1, 1, 1, 1}, -1, infer.PReluActivation)
		return b.outputs(b.maxPool(x, 2, 2, [4]int{}))
	},
	"separable in tiles": func(b *net) *infer.Graph {
		x := b.conv(b.input(1, 2, 60, 130), 130, 3, 1, [4]int{1, 1, 1, 1}, -1, infer.ReluActivation)
		return b.outputs(b.conv(x, 33, 1, 1, [4]int{}, 1, infer.NoActivation))
	},
	"conv 1x1 of many channels": func(b *net) *infer.Graph {
		return b.outputs(b.conv(b.input(1, 2, 3, 7000), 16, 1, 1, [4]int{}, 1, infer.NoActivation))
	},
	"separable of many channels": func(b *net) *infer.Graph {
		x := b.conv(b.input(1, 2, 3, 6200), 6200, 3, 1, [4]int{1, 1, 1, 1}, -1, infer.ReluActivation)
		return b.outputs(b.conv(x, 16, 1, 1, [4]int{}, 1, infer.NoActivation))
	},
	"stem in tiles": func(b *net) *infer.Graph {
		return b.outputs(b.conv(b.input(1, 3, 450, 3), 16, 5, 2, [4]int{2, 1, 2, 2}, 1, infer.ReluActivation))
	},
	"max pool 3x3 padded": func(b *net) *infer.Graph {
		return b.outputs(b.maxPool(b.input(1, 8, 6, 5), 3, 2, [4]int{0, 1, 1, 0}))
	},
	"pad": func(b *net) *infer.Graph {
		return b.outputs(b.pad(b.input(1, 4, 3, 5), []int{0, 1, 2, 3}, []int{0, 0, 1, 4}))
	},
	"pad into conv": func(b *net) *infer.Graph {
		x := b.pad(b.input(1, 8, 8, 6), []int{0, 1, 0, 0}, []int{0, 1, 2, 0})
		return b.outputs(b.conv(x, 6, 3, 2, [4]int{0, 1, 0, 0}, -1, infer.NoActivation))
	},
	"pad with two readers": func(b *net) *infer.Graph {
		x := b.pad(b.input(1, 8, 8, 6), []int{0, 1, 1, 0}, []int{0, 1, 1, 0})
		return b.outputs(b.conv(x, 6, 3, 2, [4]int{}, 1, infer.NoActivation), b.unary(infer.Neg, x))
	},
	"relu":     func(b *net) *infer.Graph { return b.outputs(b.unary(infer.Relu, b.input(1, 5, 7))) },
	"neg":      func(b *net) *infer.Graph { return b.outputs(b.unary(infer.Neg, b.input(1, 5, 7))) },
	"logistic": func(b *net) *infer.Graph { return b.outputs(b.unary(infer.Logistic, b.input(1, 33))) },
	"sqrt": func(b *net) *infer.Graph {
		x := b.input(1, 5, 7)
		return b.outputs(b.unary(infer.Sqrt, b.binary(infer.Mul, x, x, infer.NoActivation)))
	},
	"rsqrt": func(b *net) *infer.Graph {
		x := b.input(1, 5, 7)
		y := b.binary(infer.Add, b.binary(infer.Mul, x, x, infer.NoActivation), b.value([]int{1}, []float32{0.25}), infer.NoActivation)
		return b.outputs(b.unary(infer.Rsqrt, y))
	},
	"prelu":        func(b *net) *infer.Graph { return b.outputs(b.prelu(b.input(1, 5, 3, 21))) },
	"prelu rank 2": func(b *net) *infer.Graph { return b.outputs(b.prelu(b.input(3, 21))) },
	"mean last": func(b *net) *infer.Graph {
		return b.outputs(b.reduce(infer.Mean, b.input(1, 5, 6, 37), 3))
	},
	"mean middle": func(b *net) *infer.Graph {
		return b.outputs(b.reduce(infer.Mean, b.input(2, 5, 6, 7), 1))
	},
	"mean spatial": func(b *net) *infer.Graph {
		return b.outputs(b.reduce(infer.Mean, b.input(1, 5, 6, 7), 1, 2))
	},
	"sum apart": func(b *net) *infer.Graph {
		return b.outputs(b.reduce(infer.Sum, b.input(2, 5, 6, 7), 1, 3))
	},
	"transpose 2d": func(b *net) *infer.Graph { return b.outputs(b.transpose(b.input(19, 33), 1, 0)) },
	"transpose 4d": func(b *net) *infer.Graph { return b.outputs(b.transpose(b.input(2, 3, 4, 5), 3, 1, 0, 2)) },
	"transpose of ones": func(b *net) *infer.Graph {
		return b.outputs(b.transpose(b.input(1, 6, 1, 5), 1, 2, 0, 3))
	},
	"reshape": func(b *net) *infer.Graph {
		x := b.unary(infer.Neg, b.input(1, 6, 4, 5))
		return b.outputs(b.unary(infer.Neg, b.reshape(x, 1, 24, 5)), x)
	},
	"concat": func(b *net) *infer.Graph {
		x, y := b.input(1, 3, 4, 5), b.input(1, 3, 2, 5)
		return b.outputs(b.node(infer.Node{Op: infer.Concat, Axis: 2, Inputs: []infer.ValueID{x, y, x}}, 1, 3, 10, 5))
	},
	"concat with constant": func(b *net) *infer.Graph {
		x, c := b.input(1, 3, 5), b.random(1, 1, 3, 2)
		return b.outputs(b.node(infer.Node{Op: infer.Concat, Axis: 2, Inputs: []infer.ValueID{c, x}}, 1, 3, 7))
	},
	"strided slice": func(b *net) *infer.Graph {
		n := infer.Node{Op: infer.StridedSlice, Begin: []int{0, 1, 2}, End: []int{1, 6, 9}, Steps: []int{1, 2, 3}}
		n.Inputs = []infer.ValueID{b.input(1, 7, 9)}
		return b.outputs(b.node(n, 1, 3, 3))
	},
	"resize":     func(b *net) *infer.Graph { return b.outputs(b.resize(b.input(1, 3, 5, 18), 2, 2)) },
	"resize 3x1": func(b *net) *infer.Graph { return b.outputs(b.resize(b.input(1, 3, 5, 2), 3, 1)) },
	"resize add": func(b *net) *infer.Graph {
		x, y := b.input(1, 6, 10, 18), b.resize(b.input(1, 3, 5, 18), 2, 2)
		return b.outputs(b.binary(infer.Add, x, y, infer.NoActivation))
	},
	"add prelu": func(b *net) *infer.Graph {
		x, y := b.input(1, 4, 5, 19), b.input(1, 4, 5, 19)
		return b.outputs(b.prelu(b.binary(infer.Add, x, y, infer.NoActivation)))
	},
	"add fused prelu": func(b *net) *infer.Graph {
		x, y := b.input(1, 4, 5, 19), b.input(1, 4, 5, 19)
		n := infer.Node{Op: infer.Add, Activation: infer.PReluActivation, Inputs: []infer.ValueID{x, y, b.random(1, 19)}}
		return b.outputs(b.node(n, 1, 4, 5, 19))
	},
	"add padded channels": func(b *net) *infer.Graph {
		x, y := b.input(1, 4, 5, 24), b.input(1, 4, 5, 16)
		padded := b.pad(y, []int{0, 0, 0, 0}, []int{0, 0, 0, 8})
		return b.outputs(b.binary(infer.Add, padded, x, infer.NoActivation))
	},
	"add padded channels relu": func(b *net) *infer.Graph {
		x, y := b.input(1, 4, 5, 24), b.input(1, 4, 5, 16)
		padded := b.pad(y, []int{0, 0, 0, 0}, []int{0, 0, 0, 8})
		return b.outputs(b.binary(infer.Add, x, padded, infer.ReluActivation))
	},
	"input to output": func(b *net) *infer.Graph {
		x := b.input(1, 6)
		return b.outputs(b.reshape(x, 2, 3), b.unary(infer.Neg, x))
	},
}

func (b *net) resize(x infer.ValueID, fy, fx int) infer.ValueID {
	in := b.shape(x)
	n := infer.Node{Op: infer.ResizeNearest, Scale: [2]int{fy, fx}, Inputs: []infer.ValueID{x}}
	return b.node(n, in[0], in[1]*fy, in[2]*fx, in[3])
}

func TestOperators(t *testing.T) {
	for name, make := range opCases {
		t.Run(name, func(t *testing.T) { checkGraph(t, make(newNet()), infer.Options{}) })
	}
}

// TestBinary covers the operand shapes that broadcast.
func TestBinary(t *testing.T) {
	shapes := [][2][]int{
		{{1, 4, 5, 6}, {1, 4, 5, 6}}, {{1, 4, 5, 6}, {6}}, {{1, 4, 5, 6}, {1}}, {{1, 4, 5, 6}, {}}, {{1, 4, 5, 6}, {1, 4, 5, 1}},
		{{1, 1, 5, 1}, {1, 4, 1, 6}}, {{6}, {1, 4, 5, 6}},
	}
	for _, op := range []infer.Op{infer.Add, infer.Sub, infer.Mul, infer.Div, infer.SquaredDifference} {
		for _, sh := range shapes {
			for _, constant := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %v %v %v", op, sh[0], sh[1], constant), func(t *testing.T) {
					b := newNet()
					x := b.input(sh[0]...)
					y := b.positive(constant, sh[1])
					checkGraph(t, b.outputs(b.binary(op, x, y, infer.NoActivation)), infer.Options{})
				})
			}
		}
	}
}

// positive makes an operand that may be divided by: a constant, or an input's square plus a half.
func (b *net) positive(constant bool, shape []int) infer.ValueID {
	if constant {
		y := b.random(1, shape...)
		for i, v := range b.g.Values[y].Data {
			b.g.Values[y].Data[i] = v*v + 0.5
		}
		return y
	}
	y := b.input(shape...)
	half := b.value([]int{1}, []float32{0.5})
	sum := b.binary(infer.Add, b.binary(infer.Mul, y, y, infer.NoActivation), half, infer.NoActivation)
	if len(shape) == 0 {
		sum = b.reshape(sum)
	}
	return sum
}

// checkGraph compares a graph with its naive computation on two batch items.
func checkGraph(t *testing.T, g *infer.Graph, o infer.Options) {
	t.Helper()
	o.MaxBatch = 2
	const batch = 2
	rnd := rand.New(rand.NewPCG(3, 4))
	items := make([][][]float32, batch)
	in := make([]infer.Buffer, len(g.Inputs))
	for item := range items {
		for i, info := range g.InputInfo() {
			x := noise(rnd, info.Len(), 4)
			items[item] = append(items[item], x)
			in[i].Host = append(in[i].Host, x...)
		}
	}
	s, err := build(g, o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	defer func() { _ = s.Close() }()
	out := buffersFor(s.Outputs(), batch)
	for range 2 { // the second run must not see leftovers of the first
		if err := s.Run(batch, in, out); err != nil {
			t.Fatalf("run: %v", err)
		}
	}
	for item := range items {
		want := naive(g, items[item])
		for i, info := range s.Outputs() {
			n := info.Len()
			compare(t, fmt.Sprintf("item %d output %d", item, i), out[i].Host[item*n:(item+1)*n], want[i], tolerance)
		}
	}
}

func buffersFor(infos []infer.Info, batch int) []infer.Buffer {
	out := make([]infer.Buffer, len(infos))
	for i, info := range infos {
		out[i].Host = make([]float32, batch*info.Len())
	}
	return out
}

// compare fails when an element differs by more than limit × the largest wanted magnitude.
func compare(t *testing.T, what string, got, want []float32, limit float64) {
	t.Helper()
	scale := 1e-6
	for _, v := range want {
		scale = math.Max(scale, math.Abs(float64(v)))
	}
	for i := range want {
		if diff := math.Abs(float64(got[i]) - float64(want[i])); !(diff <= limit*scale) {
			t.Fatalf("%s: element %d is %g, want %g (largest %g)", what, i, got[i], want[i], scale)
		}
	}
}
