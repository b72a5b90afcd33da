package gpu

import (
	"slices"
	"strings"
	"testing"

	"facetrack/infer"
	"facetrack/internal/kernels/nn"
)

const (
	plain = infer.NoActivation
	relu  = infer.ReluActivation
	prelu = infer.PReluActivation
)

// pattern is a small network and the steps that it has to become.
type pattern struct {
	name  string
	build func(b *net) *infer.Graph
	want  string
}

// image is the input of most patterns.
func (b *net) image() infer.ValueID { return b.input(1, 8, 6, 12) }

func patterns() []pattern {
	return []pattern{
		{"depthwise before 1x1", func(b *net) *infer.Graph {
			return b.outputs(b.point(b.depth(b.image(), 2, prelu), 20))
		}, "conv"},
		{"depthwise that two read", func(b *net) *infer.Graph {
			d := b.depth(b.image(), 1, relu)
			return b.outputs(b.point(d, 9), b.point(d, 4))
		}, "depthwise conv conv"},
		{"depthwise that is an output", func(b *net) *infer.Graph {
			d := b.depth(b.image(), 1, relu)
			return b.outputs(d, b.point(d, 4))
		}, "depthwise conv"},
		{"residual", func(b *net) *infer.Graph {
			x := b.image()
			return b.outputs(b.add(x, b.point(b.depth(x, 1, plain), 12), prelu))
		}, "conv"},
		{"residual behind", func(b *net) *infer.Graph {
			x := b.image()
			return b.outputs(b.add(b.point(x, 12), x, relu))
		}, "conv"},
		{"residual with more channels", func(b *net) *infer.Graph {
			x := b.image()
			return b.outputs(b.add(b.widen(x, 4), b.point(b.depth(x, 1, plain), 16), relu))
		}, "conv"},
		{"pooled residual", func(b *net) *infer.Graph {
			x := b.point(b.image(), 12)
			y := b.point(b.depth(x, 2, prelu), 24)
			return b.outputs(b.add(b.widen(b.pool(x), 12), y, prelu))
		}, "conv conv"},
		{"pooled residual of the same width", func(b *net) *infer.Graph {
			x := b.image()
			return b.outputs(b.add(b.point(b.depth(x, 2, plain), 12), b.pool(x), plain))
		}, "conv"},
		{"pool that two read", func(b *net) *infer.Graph {
			p := b.pool(b.image())
			return b.outputs(b.point(b.add(b.point(p, 12), p, plain), 3), b.point(p, 5))
		}, "pool conv conv conv"},
		{"sum of two convolutions", func(b *net) *infer.Graph {
			x := b.image()
			return b.outputs(b.add(b.point(x, 7), b.point(b.depth(x, 1, plain), 7), relu))
		}, "conv conv"},
		{"summand that is read again", func(b *net) *infer.Graph {
			x := b.image()
			y := b.point(x, 12)
			return b.outputs(b.node(infer.Node{Op: infer.Mul}, b.add(x, y, plain), y))
		}, "conv binary binary"},
		{"logistic behind a reshape", func(b *net) *infer.Graph {
			return b.outputs(b.op(infer.Logistic, b.reshape(b.point(b.image(), 3), 1, 144, 1)))
		}, "conv"},
		{"logistic behind depthwise", func(b *net) *infer.Graph {
			return b.outputs(b.op(infer.Logistic, b.depth(b.image(), 1, plain)))
		}, "depthwise"},
		{"heads", func(b *net) *infer.Graph {
			x := b.depth(b.image(), 1, relu)
			head := func(n int) infer.ValueID { return b.depth(b.point(x, n), 1, plain) }
			return b.outputs(b.op(infer.Logistic, b.reshape(head(1), 1, 48, 1)), b.reshape(head(4), 1, 48, 4), head(10))
		}, "conv depthwise move move move"},
		{"enlarged summand", func(b *net) *infer.Graph {
			x := b.image()
			return b.outputs(b.add(x, b.enlarge(b.pool(x), 2), plain))
		}, "pool binary"},
		{"parts of an output", func(b *net) *infer.Graph {
			x := b.image()
			y := b.conv(x, 6, 3, 2, 1, plain)
			return b.outputs(b.concat(1, b.reshape(b.point(x, 2), 1, 96, 1), b.reshape(y, 1, 72, 1)))
		}, "conv conv"},
		{"parts within parts", func(b *net) *infer.Graph {
			x := b.image()
			part := func() infer.ValueID { return b.reshape(b.point(x, 2), 1, 96) }
			return b.outputs(b.reshape(b.concat(1, part(), b.concat(1, part(), part())), 3, 96))
		}, "conv conv conv"},
		{"parts that are elsewhere", func(b *net) *infer.Graph {
			x := b.input(1, 4, 3)
			y := b.op(infer.Neg, x)
			return b.outputs(b.concat(1, x, y, b.random(1, 1, 2, 3)), b.op(infer.Neg, y))
		}, "unary concat concat concat unary"},
		{"parts side by side", func(b *net) *infer.Graph {
			x := b.image()
			return b.outputs(b.concat(3, b.point(x, 2), b.point(x, 3)))
		}, "conv conv concat concat"},
		{"part twice", func(b *net) *infer.Graph {
			y := b.point(b.image(), 2)
			return b.outputs(b.concat(1, y, y))
		}, "conv concat concat"},
		{"a long list", func(b *net) *infer.Graph { return b.outputs(b.point(b.input(1, 1, 40000, 3), 2)) }, "conv"},
		{"several images", func(b *net) *infer.Graph {
			x := b.input(2, 6, 4, 8)
			y := b.point(b.depth(b.conv(x, 8, 3, 1, 1, relu), 2, relu), 5)
			return b.outputs(b.concat(0, y, b.point(b.pool(x), 5)))
		}, "conv conv place pool conv place"},
		{"groups and dilation", func(b *net) *infer.Graph {
			y := b.conv(b.conv(b.image(), 8, 3, 1, 4, relu), 16, 3, 2, 8, plain)
			dilated := b.g.Nodes[len(b.g.Nodes)-1]
			dilated.Dilation = [2]int{2, 1}
			return b.outputs(y, b.node(dilated, dilated.Inputs...))
		}, "conv conv conv"},
		{"reshaped input", func(b *net) *infer.Graph { return b.outputs(b.reshape(b.image(), 8, 72)) }, "move"},
		{"mixer", func(b *net) *infer.Graph { return smallMixer(b, 3) }, "mixer"},
	}
}

func kinds(p *plan) string {
	var all []string
	for _, s := range p.steps {
		all = append(all, s.kind)
	}
	return strings.Join(all, " ")
}

func TestPatterns(t *testing.T) {
	for _, c := range patterns() {
		g := c.build(newNet())
		if err := g.Validate(); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		before := g.Clone()
		p, err := newPlan(g, nn.F32, hopper)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := kinds(p); got != c.want {
			t.Errorf("%s: steps %q, want %q", c.name, got, c.want)
		}
		if !slices.EqualFunc(g.Nodes, before.Nodes, func(a, b infer.Node) bool {
			return slices.Equal(a.Inputs, b.Inputs) && slices.Equal(a.Outputs, b.Outputs)
		}) {
			t.Errorf("%s: the graph was changed", c.name)
		}
	}
}

// What is fused computes what the parts do, for any batch.
func TestPatternsCompute(t *testing.T) {
	whole := newBench(t)
	nearly := pattern{name: "no mixer", build: func(b *net) *infer.Graph {
		g := smallMixer(b, 1)
		i := slices.IndexFunc(g.Nodes, func(n infer.Node) bool { return n.Activation == infer.ReluActivation })
		g.Nodes[i].Activation = infer.Relu6Activation
		return g
	}}
	for _, c := range append(patterns(), nearly) {
		t.Run(c.name, func(t *testing.T) {
			b := whole.on(t)
			g := c.build(newNet())
			for precision, tolerance := range map[string]float64{infer.FP32: exact, infer.FP16: rough} {
				n := b.network(g, Options{Precision: precision, Raw: true})
				e := b.exec(n, 3)
				for _, batch := range []int{1, 3} {
					in := inputs(n, batch, uint64(batch))
					out := blank(n.Outputs(), batch)
					b.must(e.Run(batch, in, out))
					compare(t, out, expected(t, g, batch, in), tolerance)
				}
			}
		})
	}
}
