package modelbuild

import (
	"math"
	"testing"
)

func TestHalfRoundTrip(t *testing.T) {
	for h := range 1 << 16 {
		v := halfFloat(uint16(h))
		if v != v {
			continue
		}
		if back := halfBits(v); int(back) != h {
			t.Fatalf("%#04x is %g, which becomes %#04x", h, v, back)
		}
	}
}

func TestHalfRounding(t *testing.T) {
	for v, want := range map[float32]float32{
		1 + 1.0/2048:           1,            // a tie goes to the even neighbour
		1 + 3.0/2048:           1 + 2.0/1024, // here the even one lies above
		65519:                  65504,
		65520:                  float32(math.Inf(1)),
		-1e-9:                  0,
		1.0 / (1 << 14) * 0.99: float32(math.RoundToEven(0.99*1024)) / (1 << 24),
	} {
		if got := HalfValue(v); got != want {
			t.Errorf("%g becomes %g; want %g", v, got, want)
		}
	}
}

func TestMistakesPanic(t *testing.T) {
	cases := map[string]func(b *Builder, x Tensor){
		"constant size":     func(b *Builder, x Tensor) { b.Const([]int{2, 2}, make([]float32, 3)) },
		"weights":           func(b *Builder, x Tensor) { b.Conv2D(x, b.Const([]int{1, 1, 1, 3}, make([]float32, 3)), None) },
		"computed weights":  func(b *Builder, x Tensor) { b.Conv2D(x, x, None) },
		"broadcast":         func(b *Builder, x Tensor) { b.Add(x, b.Const([]int{3}, make([]float32, 3))) },
		"reshape":           func(b *Builder, x Tensor) { b.Reshape(x, 5, -1) },
		"output of a input": func(b *Builder, x Tensor) { b.Output("y", x) },
		"tflite resize":     func(b *Builder, x Tensor) { b.Output("y", b.ResizeNearest(x, 2, 2)); b.TFLite() },
		"onnx mean":         func(b *Builder, x Tensor) { b.Output("y", b.Mean(x, true, 3)); b.ONNX() },
	}
	for name, mistake := range cases {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			b := New("mistake")
			mistake(b, b.Input("x", 1, 4, 4, 2))
		}()
	}
}

// Both files of one network can be written, in any order and again.
func TestWritersDoNotDisturbEachOther(t *testing.T) {
	b := New("both")
	x := b.Input("x", 1, 4, 4, 2)
	b.Output("y", b.Relu(b.Reshape(b.Conv2D(x, b.Half([]int{3, 1, 1, 2}, make([]float32, 6)), None, Relu()), 1, 48)))
	tflite, onnx := string(b.TFLite()), string(b.ONNX())
	if tflite != string(b.TFLite()) || onnx != string(b.ONNX()) {
		t.Error("writing again gives another file")
	}
}
