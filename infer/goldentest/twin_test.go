package goldentest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"facetrack/infer"
	"facetrack/infer/onnx"
	"facetrack/infer/tflite"
	"facetrack/internal/modelbuild"
)

// array is a tensor of a formula: at is zero outside, as a zero pad is.
type array struct {
	shape []int
	data  []float32
}

func (a array) at(index ...int) float64 {
	i := 0
	for k, x := range index {
		if x < 0 || x >= a.shape[k] {
			return 0
		}
		i = i*a.shape[k] + x
	}
	return float64(a.data[i])
}

func random(r *rand.Rand, shape ...int) array {
	n := 1
	for _, d := range shape {
		n *= d
	}
	a := array{shape: shape, data: make([]float32, n)}
	for i := range a.data {
		a.data[i] = float32(r.NormFloat64())
	}
	return a
}

// halved rounds to what float16 can hold.
func halved(a array) array {
	out := array{shape: a.shape}
	for _, v := range a.data {
		out.data = append(out.data, modelbuild.HalfValue(v))
	}
	return out
}

// tabulate evaluates a formula at every index of a shape.
func tabulate(shape []int, f func(i []int) float64) array {
	out := array{shape: shape}
	index := make([]int, len(shape))
	for {
		out.data = append(out.data, float32(f(index)))
		a := len(shape) - 1
		for ; a >= 0; a-- {
			if index[a]++; index[a] < shape[a] {
				break
			}
			index[a] = 0
		}
		if a < 0 {
			return out
		}
	}
}

// twin is a network of one or two operators and the formula that it has to follow, for an input x [1,7,6,4].
type twin struct {
	name    string
	formats string // "t" TFLite, "o" ONNX
	build   func(b *modelbuild.Builder, x modelbuild.Tensor) modelbuild.Tensor
	shape   []int // of the output
	formula func(x array, i []int) float64
}

var inputShape = []int{1, 7, 6, 4}

func TestTwins(t *testing.T) {
	for _, c := range twins() {
		t.Run(c.name, func(t *testing.T) { c.test(t) })
	}
}

func (c *twin) test(t *testing.T) {
	b := modelbuild.New(c.name)
	y := c.build(b, b.Input("x", inputShape...))
	b.Output("y", y)
	for _, f := range c.formats {
		load, data := tflite.Load, []byte(nil)
		if f == 'o' {
			load, data = onnx.Load, b.ONNX()
		} else {
			data = b.TFLite()
		}
		g, err := load(data)
		if err != nil {
			t.Fatalf("format %c: %v", f, err)
		}
		for _, v := range variants(t) {
			for _, raw := range []bool{false, true} {
				t.Run(fmt.Sprintf("%c/%s/raw=%t", f, v.name, raw), func(t *testing.T) {
					v.options.MaxBatch, v.options.NoOptimize = 2, raw
					c.compare(t, g, v)
				})
			}
		}
	}
}

// compare runs two different items as one batch.
func (c *twin) compare(t *testing.T, g *infer.Graph, v variant) {
	s, err := infer.Open(g, v.options)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	r := rand.New(rand.NewPCG(7, 11))
	items := []array{random(r, inputShape...), random(r, inputShape...)}
	input := append(append([]float32(nil), items[0].data...), items[1].data...)
	want := append(tabulate(c.shape, func(i []int) float64 { return c.formula(items[0], i) }).data,
		tabulate(c.shape, func(i []int) float64 { return c.formula(items[1], i) }).data...)
	if got := s.Outputs()[0].Len(); 2*got != len(want) {
		t.Fatalf("output of shape %v; want %v", s.Outputs()[0].Shape, c.shape)
	}
	out := make([]float32, len(want))
	if err := s.Run(2, []infer.Buffer{{Host: input}}, []infer.Buffer{{Host: out}}); err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if diff := math.Abs(float64(out[i] - want[i])); !(diff <= v.formula*(1+math.Abs(float64(want[i])))) {
			t.Fatalf("element %d is %g; want %g", i, out[i], want[i])
		}
	}
}
