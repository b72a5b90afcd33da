//go:build xnnpack

package xnnpack

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"facetrack/infer"
)

// The twins have the structure of the real models, small and with random weights.
var twins = map[string]func(b *net) *infer.Graph{
	"separable blocks with prelu": landmarkTwin,
	"separable blocks with relu":  blazeTwin,
	"mixer":                       mixerTwin,
	"feature pyramid":             pyramidTwin,
}

func landmarkTwin(b *net) *infer.Graph {
	x := b.conv(b.input(1, 28, 24, 3), 16, 3, 2, [4]int{0, 0, 1, 1}, 1, infer.PReluActivation)
	for range 2 {
		y := b.conv(x, 16, 3, 1, [4]int{1, 1, 1, 1}, -1, infer.PReluActivation)
		x = b.addPRelu(b.conv(y, 16, 1, 1, [4]int{}, 1, infer.NoActivation), x)
	}
	y := b.conv(x, 16, 3, 2, [4]int{0, 0, 1, 1}, -1, infer.PReluActivation)
	wide := b.conv(y, 32, 1, 1, [4]int{}, 1, infer.NoActivation)
	pooled := b.maxPool(x, 2, 2, [4]int{})
	x = b.addPRelu(wide, b.pad(pooled, []int{0, 0, 0, 0}, []int{0, 0, 0, 16}))
	head := b.prelu(b.conv(x, 8, 1, 1, [4]int{}, 1, infer.NoActivation))
	points := b.conv(head, 33, b.shape(head)[2], 1, [4]int{}, 1, infer.NoActivation)
	return b.outputs(points, b.conv(head, 1, 3, 1, [4]int{}, 1, infer.NoActivation))
}

func (b *net) addPRelu(x, y infer.ValueID) infer.ValueID {
	n := infer.Node{Op: infer.Add, Activation: infer.PReluActivation, Inputs: []infer.ValueID{x, y, b.random(1, b.shape(x)[3])}}
	return b.node(n, b.shape(x)...)
}

func blazeTwin(b *net) *infer.Graph {
	x := b.conv(b.input(1, 20, 24, 3), 24, 5, 2, [4]int{1, 1, 2, 2}, 1, infer.ReluActivation)
	for _, channels := range []int{24, 28, 42} {
		y := b.conv(b.conv(x, b.shape(x)[3], 3, 1, [4]int{1, 1, 1, 1}, -1, infer.NoActivation), channels, 1, 1, [4]int{}, 1, infer.NoActivation)
		if grow := channels - b.shape(x)[3]; grow > 0 {
			x = b.pad(x, []int{0, 0, 0, 0}, []int{0, 0, 0, grow})
		}
		x = b.binary(infer.Add, x, y, infer.ReluActivation)
	}
	scores := b.reshape(b.conv(x, 2, 1, 1, [4]int{}, 1, infer.NoActivation), 1, 240, 1)
	more := b.reshape(b.conv(x, 6, 1, 1, [4]int{}, 1, infer.NoActivation), 1, 720, 1)
	all := b.node(infer.Node{Op: infer.Concat, Axis: 1, Inputs: []infer.ValueID{scores, more}}, 1, 960, 1)
	return b.outputs(all)
}

func mixerTwin(b *net) *infer.Graph {
	x := b.input(1, 1, 13, 16)
	for range 2 {
		x = b.binary(infer.Add, x, b.mix(b.transpose(b.normalize(x), 0, 1, 3, 2), 40, true), infer.NoActivation)
		x = b.binary(infer.Add, x, b.mix(b.normalize(x), 24, false), infer.NoActivation)
	}
	first := b.node(infer.Node{
		Op: infer.StridedSlice, Inputs: []infer.ValueID{x},
		Begin: []int{0, 0, 0, 0}, End: []int{1, 1, 1, 16}, Steps: []int{1, 1, 1, 1},
	}, 1, 1, 1, 16)
	return b.outputs(b.reshape(b.unary(infer.Logistic, b.conv(first, 5, 1, 1, [4]int{}, 1, infer.NoActivation)), 5))
}

// mix is two dense layers over the last axis, and back to the tokens' order.
func (b *net) mix(x infer.ValueID, hidden int, back bool) infer.ValueID {
	y := b.conv(x, hidden, 1, 1, [4]int{}, 1, infer.ReluActivation)
	y = b.conv(y, b.shape(x)[3], 1, 1, [4]int{}, 1, infer.NoActivation)
	if back {
		y = b.transpose(y, 0, 1, 3, 2)
	}
	return y
}

// normalize is layer normalisation as the loaders see it.
func (b *net) normalize(x infer.ValueID) infer.ValueID {
	mean := b.reduce(infer.Mean, x, 3)
	variance := b.reduce(infer.Mean, b.binary(infer.SquaredDifference, x, mean, infer.NoActivation), 3)
	root := b.unary(infer.Rsqrt, b.binary(infer.Add, variance, b.value([]int{1}, []float32{1e-3}), infer.NoActivation))
	scale := b.binary(infer.Mul, root, b.random(1, b.shape(x)[3]), infer.NoActivation)
	shift := b.binary(infer.Mul, b.unary(infer.Neg, mean), scale, infer.NoActivation)
	return b.binary(infer.Add, b.binary(infer.Mul, x, scale, infer.NoActivation), shift, infer.NoActivation)
}

func pyramidTwin(b *net) *infer.Graph {
	x := b.conv(b.input(1, 24, 32, 3), 16, 3, 2, [4]int{1, 1, 1, 1}, 1, infer.ReluActivation)
	unit := func(x infer.ValueID, channels int) infer.ValueID {
		y := b.conv(x, channels, 1, 1, [4]int{}, 1, infer.NoActivation)
		return b.conv(y, channels, 3, 1, [4]int{1, 1, 1, 1}, -1, infer.ReluActivation)
	}
	fine := unit(unit(b.maxPool(x, 2, 2, [4]int{}), 32), 32)
	coarse := unit(b.maxPool(fine, 2, 2, [4]int{}), 32)
	fine = b.binary(infer.Add, fine, b.resize(coarse, 2, 2), infer.NoActivation)
	var outs []infer.ValueID
	for _, level := range []infer.ValueID{fine, coarse} {
		level = unit(level, 32)
		for _, channels := range []int{1, 10, 6} {
			y := b.conv(level, channels, 1, 1, [4]int{}, 1, infer.NoActivation)
			y = b.conv(y, channels, 3, 1, [4]int{1, 1, 1, 1}, -1, infer.NoActivation)
			if channels == 1 { // depthwise of one channel is a dense convolution
				b.g.Nodes[len(b.g.Nodes)-1].Groups = 1
			}
			s := b.shape(y)
			outs = append(outs, b.unary(infer.Logistic, b.reshape(y, 1, s[1]*s[2], channels)))
		}
	}
	return b.outputs(outs...)
}

func TestTwins(t *testing.T) {
	for name, make := range twins {
		for _, threads := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s/%d", name, threads), func(t *testing.T) {
				checkGraph(t, make(newNet()), infer.Options{Threads: threads})
			})
		}
	}
}

// TestTwinsOptimized takes the twins through infer.Open: what the graph's optimiser makes of them must mean the same.
func TestTwinsOptimized(t *testing.T) {
	for name, make := range twins {
		t.Run(name, func(t *testing.T) {
			g := make(newNet())
			in := []infer.Buffer{{Host: noise(rand.New(rand.NewPCG(1, 1)), g.InputInfo()[0].Len(), 2)}}
			want := naive(g, [][]float32{in[0].Host})
			got := runOn(t, g, infer.Options{Backend: Name}, in)
			for i := range want {
				compare(t, fmt.Sprintf("output %d", i), got[i].Host, want[i], tolerance)
			}
		})
	}
}

// TestVectorWidths runs everything on the kernels of narrower processors too.
func TestVectorWidths(t *testing.T) {
	if err := initialize(); err != nil {
		t.Fatal(err)
	}
	defer chooseLanes(maxLanes)
	for _, most := range []int{4, 8, 16} {
		chooseLanes(most)
		t.Run(fmt.Sprintf("%d floats", lanes), func(t *testing.T) {
			for name, make := range twins {
				t.Run(name, func(t *testing.T) { checkGraph(t, make(newNet()), infer.Options{}) })
			}
			for name, make := range opCases {
				t.Run(name, func(t *testing.T) { checkGraph(t, make(newNet()), infer.Options{}) })
			}
		})
	}
}

// TestRandomGraphs chains random operators; each seed is one graph.
func TestRandomGraphs(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			b := newNet()
			b.rnd = rand.New(rand.NewPCG(seed, 9))
			threads := 1 + int(seed%10)/9 // a pool that shares busy cores is slow
			checkGraph(t, randomGraph(b), infer.Options{Threads: threads})
		})
	}
}

// randomGraph grows a graph from values that are already there, so that values get several readers.
func randomGraph(b *net) *infer.Graph {
	live := []infer.ValueID{b.input(1, 6+b.rnd.IntN(9), 5+b.rnd.IntN(9), []int{3, 16, 21, 40}[b.rnd.IntN(4)])}
	for range 12 {
		live = append(live, b.randomNode(live[b.rnd.IntN(len(live))], live))
	}
	return b.outputs(live[len(live)-1], live[len(live)-2], live[1+b.rnd.IntN(len(live)-1)])
}

func (b *net) randomNode(x infer.ValueID, live []infer.ValueID) infer.ValueID {
	shape := b.shape(x)
	act := infer.Activation(b.rnd.IntN(4))
	switch b.rnd.IntN(9) {
	case 0:
		return b.conv(x, 16+b.rnd.IntN(24), 1, 1, [4]int{}, 1, act)
	case 1:
		return b.conv(x, shape[3], 3, 1+b.rnd.IntN(2), [4]int{b.rnd.IntN(2), b.rnd.IntN(2), 1, 1}, -1, act)
	case 2:
		return b.conv(x, 1+b.rnd.IntN(40), 3, 1+b.rnd.IntN(2), [4]int{1, b.rnd.IntN(2), 1, 1}, 1, act)
	case 3:
		return b.prelu(x)
	case 4:
		return b.pad(x, []int{0, b.rnd.IntN(2), b.rnd.IntN(2), 0}, []int{0, b.rnd.IntN(2), b.rnd.IntN(2), 4 * b.rnd.IntN(2)})
	case 5:
		return b.maxPool(x, 2, 1, [4]int{0, 1, 1, 0})
	case 6:
		return b.unary(infer.Logistic, x)
	}
	for _, y := range live { // an addition of whatever has the same shape, or of a widened copy
		if y != x && fmt.Sprint(b.shape(y)) == fmt.Sprint(shape) {
			return b.binary(infer.Add, x, y, infer.Activation(b.rnd.IntN(3)))
		}
	}
	wide := b.conv(x, shape[3]+16, 1, 1, [4]int{}, 1, infer.NoActivation)
	return b.prelu(b.binary(infer.Add, b.pad(x, []int{0, 0, 0, 0}, []int{0, 0, 0, 16}), wide, infer.NoActivation))
}
