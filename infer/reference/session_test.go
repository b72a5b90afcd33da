package reference_test

import (
	"errors"
	"math"
	"testing"

	"facetrack/infer"
	"facetrack/infer/reference"
	"facetrack/infer/tflite"
	mb "facetrack/internal/modelbuild"
)

// open makes y = 2x on [1,3] with a largest batch of 2.
func open(t *testing.T) infer.Session {
	t.Helper()
	b := mb.New("double")
	x := b.Input("x", 1, 3)
	b.Output("y", b.Add(x, x))
	g, err := tflite.Load(b.TFLite())
	if err != nil {
		t.Fatal(err)
	}
	s, err := infer.Open(g, infer.Options{Backend: reference.Name, MaxBatch: 2})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func host(values ...float32) []infer.Buffer { return []infer.Buffer{{Host: values}} }

func TestRunBatch(t *testing.T) {
	s := open(t)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	y := make([]float32, 6)
	if err := s.Run(2, host(1, 2, 3, 4, 5, 6), []infer.Buffer{{Host: y}}); err != nil {
		t.Fatal(err)
	}
	for i, v := range y {
		if v != float32(2*(i+1)) {
			t.Errorf("y = %v", y)
			break
		}
	}
	if s.Backend() != "reference" || s.Inputs()[0].Name != "x" || s.Outputs()[0].Name != "y" {
		t.Errorf("session %q with %v and %v", s.Backend(), s.Inputs(), s.Outputs())
	}
}

func TestRunRefuses(t *testing.T) {
	s := open(t)
	y := make([]float32, 3)
	cases := map[string]error{
		"batch of 0":      s.Run(0, host(), host()),
		"batch of 3":      s.Run(3, host(make([]float32, 9)...), host(make([]float32, 9)...)),
		"short input":     s.Run(1, host(1, 2), []infer.Buffer{{Host: y}}),
		"long output":     s.Run(1, host(1, 2, 3), host(make([]float32, 4)...)),
		"missing output":  s.Run(1, host(1, 2, 3), nil),
		"device memory":   s.Run(1, []infer.Buffer{{Device: 4096}}, []infer.Buffer{{Host: y}}),
		"batch too short": s.Run(2, host(1, 2, 3), []infer.Buffer{{Host: y}}),
	}
	for name, err := range cases {
		if !errors.Is(err, infer.ErrBadInput) {
			t.Errorf("%s: error %v; want ErrBadInput", name, err)
		}
	}
}

func TestCloseTwice(t *testing.T) {
	s := open(t)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := s.Run(1, host(1, 2, 3), host(1, 2, 3)); !errors.Is(err, infer.ErrClosed) {
		t.Errorf("error %v; want ErrClosed", err)
	}
}

// 1 + 2⁻²⁵ four times: float32 sums lose the small terms, one rounding at the end does not.
func TestConvolutionRoundsOnce(t *testing.T) {
	b := mb.New("sum")
	x := b.Input("x", 1, 1, 1, 5)
	b.Output("y", b.Conv2D(x, b.Const([]int{1, 1, 1, 5}, []float32{1, 1, 1, 1, 1}), mb.None))
	g, err := tflite.Load(b.TFLite())
	if err != nil {
		t.Fatal(err)
	}
	s, err := infer.Open(g, infer.Options{Backend: reference.Name})
	if err != nil {
		t.Fatal(err)
	}
	small := float32(math.Ldexp(1, -25))
	y := make([]float32, 1)
	if err := s.Run(1, host(1, small, small, small, small), []infer.Buffer{{Host: y}}); err != nil {
		t.Fatal(err)
	}
	if want := float32(1 + math.Ldexp(1, -23)); y[0] != want {
		t.Errorf("sum %.9g; want %.9g", y[0], want)
	}
}
