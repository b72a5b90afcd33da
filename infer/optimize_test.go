package infer_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"facetrack/infer"
	"facetrack/infer/onnx"
	"facetrack/infer/tflite"
	mb "facetrack/internal/modelbuild"
)

// optimised builds a network behind x [1,6,6,2], optimises it and returns the operators that are left.
func optimised(t *testing.T, build func(b *mb.Builder, x mb.Tensor) mb.Tensor) (*infer.Graph, []infer.Op) {
	t.Helper()
	b := mb.New("net")
	b.Output("y", build(b, b.Input("x", 1, 6, 6, 2)))
	g, err := tflite.Load(b.TFLite())
	if err != nil {
		t.Fatal(err)
	}
	if err := infer.Optimize(g); err != nil {
		t.Fatal(err)
	}
	var ops []infer.Op
	for _, n := range g.Nodes {
		ops = append(ops, n.Op)
	}
	if name := g.OutputInfo()[0].Name; name != "y" {
		t.Errorf("the output is now named %q", name)
	}
	return g, ops
}

func TestOptimizeLeaves(t *testing.T) {
	weights := func(b *mb.Builder) mb.Tensor { return b.Const([]int{3, 1, 1, 2}, make([]float32, 6)) }
	slope := func(b *mb.Builder, n int) mb.Tensor { return b.Const([]int{n}, make([]float32, n)) }
	cases := []struct {
		name  string
		build func(b *mb.Builder, x mb.Tensor) mb.Tensor
		want  []infer.Op
	}{
		{"relu into conv", func(b *mb.Builder, x mb.Tensor) mb.Tensor { return b.Relu(b.Conv2D(x, weights(b), mb.None)) },
			[]infer.Op{infer.Conv2D}},
		{"prelu into conv", func(b *mb.Builder, x mb.Tensor) mb.Tensor {
			return b.PRelu(b.Conv2D(x, weights(b), mb.None), slope(b, 3))
		}, []infer.Op{infer.Conv2D}},
		{"prelu into add", func(b *mb.Builder, x mb.Tensor) mb.Tensor { return b.PRelu(b.Add(x, x), slope(b, 2)) },
			[]infer.Op{infer.Add}},
		{"prelu stays behind mul", func(b *mb.Builder, x mb.Tensor) mb.Tensor { return b.PRelu(b.Mul(x, x), slope(b, 2)) },
			[]infer.Op{infer.Mul, infer.PRelu}},
		{"a value that is read twice", func(b *mb.Builder, x mb.Tensor) mb.Tensor {
			y := b.Conv2D(x, weights(b), mb.None)
			return b.Sub(b.Relu(y), y)
		}, []infer.Op{infer.Conv2D, infer.Relu, infer.Sub}},
		{"one activation is enough", func(b *mb.Builder, x mb.Tensor) mb.Tensor { return b.PRelu(b.Relu(b.Add(x, x)), slope(b, 2)) },
			[]infer.Op{infer.Add, infer.PRelu}},
		{"spatial pad into conv", func(b *mb.Builder, x mb.Tensor) mb.Tensor {
			return b.Conv2D(b.Pad(x, []int{0, 1, 2, 0}, []int{0, 3, 0, 0}), weights(b), mb.None)
		}, []infer.Op{infer.Conv2D}},
		{"channel pad stays", func(b *mb.Builder, x mb.Tensor) mb.Tensor {
			p := b.Pad(b.StridedSlice(x, make([]int, 4), []int{1, 6, 6, 1}, []int{1, 1, 1, 1}, mb.Masks{}), make([]int, 4), []int{0, 0, 0, 1})
			return b.Conv2D(p, weights(b), mb.None)
		}, []infer.Op{infer.StridedSlice, infer.Pad, infer.Conv2D}},
		{"pad before a pool stays", func(b *mb.Builder, x mb.Tensor) mb.Tensor {
			return b.MaxPool(b.Pad(x, []int{0, 1, 1, 0}, make([]int, 4)), 2)
		}, []infer.Op{infer.Pad, infer.MaxPool2D}},
		{"transposed there and back", func(b *mb.Builder, x mb.Tensor) mb.Tensor {
			y := b.Reshape(b.Reshape(b.Neg(x), 1, 72), 1, 6, 6, 2)
			return b.Sqrt(b.Transpose(y, 0, 1, 2, 3))
		}, []infer.Op{infer.Neg, infer.Sqrt}},
		{"identity before an output", func(b *mb.Builder, x mb.Tensor) mb.Tensor { return b.Transpose(b.Neg(x), 0, 1, 2, 3) },
			[]infer.Op{infer.Neg}},
		{"a copy of the input stays", func(b *mb.Builder, x mb.Tensor) mb.Tensor { return b.Transpose(x, 0, 1, 2, 3) },
			[]infer.Op{infer.Reshape}},
		{"constants", func(b *mb.Builder, x mb.Tensor) mb.Tensor {
			k := b.Transpose(b.Reshape(b.Neg(b.Half([]int{2, 6}, make([]float32, 12))), 1, 2, 6), 0, 2, 1)
			return b.Add(x, b.Mul(k, b.Const(nil, []float32{2})))
		}, []infer.Op{infer.Add}},
		{"dead branch", func(b *mb.Builder, x mb.Tensor) mb.Tensor {
			b.Conv2D(b.Neg(x), weights(b), mb.None)
			return b.Sqrt(x)
		}, []infer.Op{infer.Sqrt}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g, ops := optimised(t, c.build)
			if !reflect.DeepEqual(ops, c.want) {
				t.Fatalf("left are %v; want %v", ops, c.want)
			}
			again := g.Clone()
			if err := infer.Optimize(again); err != nil || !reflect.DeepEqual(g, again) {
				t.Errorf("optimising twice changes the graph (%v)", err)
			}
		})
	}
}

// -[1 2]ᵀ - [½ ¼], worked out by hand.
func TestOptimizeFoldsValues(t *testing.T) {
	g, _ := optimised(t, func(b *mb.Builder, x mb.Tensor) mb.Tensor {
		k := b.Sub(b.Neg(b.Half([]int{2, 1}, []float32{1, 2})), b.Const([]int{2}, []float32{0.5, 0.25}))
		return b.Add(b.Reshape(x, 1, 18, 2, 2), b.Reshape(k, 1, 1, 2, 2), mb.Relu())
	})
	want := []float32{-1.5, -1.25, -2.5, -2.25}
	if got := g.Values[g.Nodes[len(g.Nodes)-1].Inputs[1]].Data; len(g.Nodes) != 2 || !reflect.DeepEqual(got, want) {
		t.Errorf("%d nodes, folded constant %v; want a reshape, a sum and %v", len(g.Nodes), got, want)
	}
}

// Folding must not make a small file large: a chain of broadcasts stays unfolded once it would.
func TestOptimizeBoundsFolding(t *testing.T) {
	b := mb.New("blow-up")
	row, column := b.Const([]int{1, 2000}, make([]float32, 2000)), b.Const([]int{2000, 1}, make([]float32, 2000))
	b.Output("y", b.Add(b.Input("x", 1), b.Add(row, column)))
	g, err := tflite.Load(b.TFLite())
	if err != nil {
		t.Fatal(err)
	}
	if err := infer.Optimize(g); err != nil {
		t.Fatal(err)
	}
	if len(g.Nodes) != 2 {
		t.Errorf("%d nodes; want the sum of 4 million constants left to the backend", len(g.Nodes))
	}
}

// The sample networks give the same results optimised and raw.
func TestOptimizeKeepsResults(t *testing.T) {
	tfl, err := tflite.Load(mb.EveryTFLite().TFLite())
	if err != nil {
		t.Fatal(err)
	}
	onx, err := onnx.Load(mb.EveryONNX().ONNX())
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(9, 9))
	for _, g := range []*infer.Graph{tfl, onx} {
		x := make([]float32, g.InputInfo()[0].Len())
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		raw, fused := results(t, g, x, true), results(t, g, x, false)
		if !reflect.DeepEqual(raw, fused) {
			t.Errorf("%s: raw %v, optimised %v", g.Name, raw, fused)
		}
	}
}

func results(t *testing.T, g *infer.Graph, x []float32, raw bool) [][]float32 {
	t.Helper()
	s, err := infer.Open(g, infer.Options{Backend: "reference", NoOptimize: raw})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	var out [][]float32
	var buffers []infer.Buffer
	for _, info := range s.Outputs() {
		out = append(out, make([]float32, info.Len()))
		buffers = append(buffers, infer.Buffer{Host: out[len(out)-1]})
	}
	if err := s.Run(1, []infer.Buffer{{Host: x}}, buffers); err != nil {
		t.Fatal(err)
	}
	return out
}
