package gpu

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"facetrack/infer"
	"facetrack/internal/kernels/nn"
)

// layer is a depthwise convolution, a 1×1 convolution and a residual.
func (b *net) layer(x infer.ValueID, stride, channels int) infer.ValueID {
	y, from := b.point(b.depth(x, stride, prelu), channels), b.shape(x)[3]
	if stride == 2 {
		x = b.pool(x)
	}
	if channels > from {
		x = b.widen(x, channels-from)
	}
	return b.add(x, y, prelu)
}

// chained are small networks and the steps that they become in float16.
func chained() []pattern {
	return []pattern{
		{"layers", func(b *net) *infer.Graph {
			x := b.input(1, 12, 12, 24)
			return b.outputs(b.layer(b.layer(b.layer(x, 1, 24), 2, 42), 1, 42))
		}, "chain"},
		{"heads", func(b *net) *infer.Graph {
			x := b.layer(b.layer(b.input(1, 6, 6, 24), 2, 32), 1, 32)
			y := b.conv(x, 8, 1, 1, 1, prelu)
			head := func(n int) infer.ValueID {
				s := b.shape(y)
				v := infer.Node{Op: infer.Conv2D, Kernel: [2]int{s[1], s[2]}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}, Groups: 1}
				return b.node(v, y, b.random(0.1, n, s[1], s[2], s[3]), b.random(0.5, n))
			}
			return b.outputs(head(1), b.reshape(head(141), 1, 47, 3))
		}, "chain"},
		{"a value that others read too", func(b *net) *infer.Graph {
			x := b.layer(b.input(1, 8, 8, 16), 1, 16)
			return b.outputs(b.op(infer.Neg, x), b.layer(x, 2, 16))
		}, "chain unary"},
		{"an output inside", func(b *net) *infer.Graph {
			x := b.layer(b.input(1, 8, 8, 16), 1, 16)
			return b.outputs(x, b.layer(x, 2, 16))
		}, "chain"},
		{"parts of an output", func(b *net) *infer.Graph {
			x := b.layer(b.input(1, 8, 8, 16), 1, 16)
			y := b.layer(x, 2, 24)
			return b.outputs(b.concat(1, b.reshape(b.point(x, 2), 1, 128, 1), b.reshape(b.point(y, 3), 1, 48, 1)))
		}, "chain"},
		{"more outputs than a chain has", func(b *net) *infer.Graph {
			x := b.layer(b.input(1, 8, 8, 16), 1, 16)
			var out []infer.ValueID
			for n := range 5 {
				out = append(out, b.point(x, n+2))
			}
			return b.outputs(out...)
		}, "chain conv conv"},
		{"large images first", func(b *net) *infer.Graph {
			return b.outputs(b.layer(b.layer(b.layer(b.input(1, 26, 26, 8), 1, 8), 2, 8), 1, 8))
		}, "conv conv conv"},
		{"small images behind", func(b *net) *infer.Graph {
			return b.outputs(b.layer(b.layer(b.layer(b.input(1, 48, 24, 8), 2, 8), 2, 8), 1, 8))
		}, "conv chain"},
		{"two chains", func(b *net) *infer.Graph {
			x := b.layer(b.layer(b.input(1, 8, 8, 8), 1, 8), 1, 8)
			return b.outputs(b.layer(b.layer(b.depth(x, 1, relu), 1, 8), 1, 8))
		}, "chain depthwise chain"},
		{"a logistic inside", func(b *net) *infer.Graph {
			x := b.op(infer.Logistic, b.point(b.input(1, 8, 8, 12), 12))
			return b.outputs(b.op(infer.Logistic, b.point(b.layer(x, 1, 12), 3)))
		}, "conv chain"},
		{"fronts that no chain has", func(b *net) *infer.Graph {
			x := b.layer(b.input(1, 9, 9, 8), 1, 8)
			return b.outputs(b.layer(b.point(b.conv(x, 8, 5, 3, 8, relu), 8), 1, 8))
		}, "conv conv conv"},
		{"several images", func(b *net) *infer.Graph {
			return b.outputs(b.point(b.point(b.input(2, 8, 8, 12), 12), 3))
		}, "conv conv"},
	}
}

func TestChains(t *testing.T) {
	whole := newBench(t)
	for _, c := range chained() {
		t.Run(c.name, func(t *testing.T) {
			b := whole.on(t)
			g := c.build(newNet())
			n := b.network(g, Options{Precision: infer.FP16, Raw: true})
			if got := kinds(n.plan); got != c.want {
				t.Errorf("steps %q, want %q", got, c.want)
			}
			e := b.exec(n, 3)
			for _, batch := range []int{1, 3} {
				in, out := inputs(n, batch, uint64(batch)), blank(n.Outputs(), batch)
				b.must(e.Run(batch, in, out))
				compare(t, out, expected(t, g, batch, in), 2*rough)
			}
		})
	}
}

// Where a thread block cannot have what a chain needs, its operators are launches of their own.
func TestChainsNeedSharedMemory(t *testing.T) {
	build := func(b *net) *infer.Graph {
		return b.outputs(b.layer(b.layer(b.layer(b.input(1, 12, 12, 128), 1, 128), 2, 128), 1, 128))
	}
	for shared, want := range map[int]string{90 << 10: "chain conv", 80 << 10: "conv chain", 48 << 10: "conv conv conv", hopper: "chain"} {
		p, err := newPlan(build(newNet()), nn.F16, shared)
		if err != nil {
			t.Fatal(err)
		}
		if got := kinds(p); got != want {
			t.Errorf("with %d bytes: steps %q, want %q", shared, got, want)
		}
	}
}

func TestRandomLayers(t *testing.T) {
	whole := newBench(t)
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			b, build, r := whole.on(t), newNet(), rand.New(rand.NewPCG(seed, 9))
			x := build.input(1, 4+4*r.IntN(3), 4+4*r.IntN(3), 1+r.IntN(40))
			values := []infer.ValueID{build.layer(x, 1, build.shape(x)[3])}
			for range 2 + r.IntN(4) {
				x = values[len(values)-1-r.IntN(min(2, len(values)))]
				s := build.shape(x)
				switch {
				case r.IntN(4) == 0:
					x = build.conv(x, 1+r.IntN(40), 1+2*r.IntN(2), 1, 1, relu)
				case s[1]%2+s[2]%2 == 0:
					x = build.layer(x, 1+r.IntN(2), s[3]+r.IntN(9))
				default:
					x = build.layer(x, 1, s[3]+r.IntN(9))
				}
				values = append(values, x)
			}
			g := build.outputs(values[len(values)-1], values[r.IntN(len(values)-1)])
			n := b.network(g, Options{Precision: infer.FP16, Raw: seed%2 == 0})
			if !strings.Contains(kinds(n.plan), "chain") {
				t.Logf("no chain: %q", n.Steps())
			}
			in, out := inputs(n, 2, seed), blank(n.Outputs(), 2)
			b.must(b.exec(n, 2).Run(2, in, out))
			compare(t, out, expected(t, g, 2, in), 4*rough)
		})
	}
}
