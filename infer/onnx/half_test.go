package onnx

import (
	"errors"
	"slices"
	"testing"

	"facetrack/infer"
	"facetrack/internal/half"
)

func TestHalfConstants(t *testing.T) {
	want := []float32{0, -1, 0.5, 65504, -6.103515625e-05, 5.960464477539063e-08}
	l, n := castOf(half.Append(nil, want...), 2, 3)
	if err := l.cast(n); err != nil {
		t.Fatal(err)
	}
	if got, err := l.tensors["w"].floats(); err != nil || !slices.Equal(got, want) || !slices.Equal(l.tensors["w"].dims, []int{2, 3}) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}

func TestCastRefuses(t *testing.T) {
	short, n := castOf(make([]byte, 11), 2, 3)
	poor, _ := castOf(make([]byte, 12), 2, 3)
	poor.budget = 5
	for name, l := range map[string]*loader{"a cut constant": short, "a file smaller than its constants": poor} {
		if err := l.cast(n); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	l, _ := castOf(make([]byte, 12), 2, 3)
	for name, n := range map[string]*node{
		"something computed": {inputs: []string{"x"}, outputs: []string{"w"}, attributes: map[string]attribute{"to": {i: typeFloat}}},
		"to integers":        {inputs: []string{"h"}, outputs: []string{"w"}, attributes: map[string]attribute{"to": {i: typeInt64}}},
	} {
		if err := l.cast(n); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func castOf(raw []byte, dims ...int) (*loader, *node) {
	l := &loader{
		g: &infer.Graph{}, values: map[string]operand{}, budget: 1024,
		tensors: map[string]*tensor{"h": {name: "h", kind: typeHalf, dims: dims, raw: raw}},
	}
	return l, &node{op: "Cast", inputs: []string{"h"}, outputs: []string{"w"}, attributes: map[string]attribute{"to": {i: typeFloat}}}
}
