package onnx

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"facetrack/infer"
	"facetrack/internal/modelbuild"

	"google.golang.org/protobuf/encoding/protowire"
)

func TestLoadEvery(t *testing.T) {
	g, err := Load(modelbuild.EveryONNX().ONNX())
	if err != nil {
		t.Fatal(err)
	}
	if in := g.InputInfo(); len(in) != 1 || in[0].Name != "image" || !slices.Equal(in[0].Shape, []int{1, 8, 6, 3}) {
		t.Errorf("inputs %v; want image as NHWC", in)
	}
	out := g.OutputInfo()
	if len(out) != 2 || !slices.Equal(out[0].Shape, []int{1, 4, 3, 4}) || !slices.Equal(out[1].Shape, []int{1, 12, 4}) {
		t.Errorf("outputs %v", out)
	}
}

// The file's own transposition to NHWC moves nothing, so that optimising leaves none.
func TestDetectorHeadsNeedNoTransposition(t *testing.T) {
	b := modelbuild.New("head")
	x := b.Input("image", 1, 4, 4, 3)
	b.Output("scores", b.Logistic(b.Reshape(b.Relu(x), 1, -1, 3)))
	g, err := Load(b.ONNX())
	if err != nil {
		t.Fatal(err)
	}
	if err := infer.Optimize(g); err != nil {
		t.Fatal(err)
	}
	for i := range g.Nodes {
		if g.Nodes[i].Op == infer.Transpose {
			t.Errorf("%s is left", &g.Nodes[i])
		}
	}
}

// Any cut and any flipped bit gives an error of this package's kinds or a valid graph, never a panic.
func TestDamagedFiles(t *testing.T) {
	data := modelbuild.EveryONNX().ONNX()
	for n := range data {
		if g, err := Load(data[:n]); err == nil || g != nil {
			t.Errorf("a model cut to %d bytes was loaded", n)
		}
	}
	for i := 0; i < 8*len(data); i += 11 { // visits every position of a bit in a byte
		flipped := bytes.Clone(data)
		flipped[i/8] ^= 1 << (i % 8)
		g, err := Load(flipped)
		if err == nil {
			err = g.Validate()
		}
		if err != nil && !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrUnsupported) && !errors.Is(err, infer.ErrInvalidGraph) {
			t.Errorf("bit %d: error %v is of no known kind", i, err)
		}
	}
}

func TestRefuses(t *testing.T) {
	cases := map[string][]byte{
		"operator set 9":     bytes.ReplaceAll(modelbuild.EveryONNX().ONNX(), []byte{0x10, 11}, []byte{0x10, 9}),
		"there is no graph":  nil,
		"unexpected EOF":     {0x3a, 0x7f},
		`operator "Sigmoud"`: bytes.Replace(modelbuild.EveryONNX().ONNX(), []byte("Sigmoid"), []byte("Sigmoud"), 1),
		`rounding "ceil!"`:   bytes.Replace(modelbuild.EveryONNX().ONNX(), []byte("floor"), []byte("ceil!"), 1),
	}
	for says, data := range cases {
		if _, err := Load(data); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v; want one that says %q", err, says)
		}
	}
}

// A free batch dimension is 1; any other free dimension is refused.
func TestFreeDimensions(t *testing.T) {
	l := &loader{g: &infer.Graph{}, values: map[string]operand{}}
	if err := l.inputs([]info{{"x", []int{0, 3, 8, 6}}}); err != nil {
		t.Fatal(err)
	}
	if got := l.g.Values[0].Shape; !slices.Equal(got, []int{1, 8, 6, 3}) {
		t.Errorf("shape %v", got)
	}
	if err := l.inputs([]info{{"y", []int{1, 3, 0, 6}}}); !errors.Is(err, infer.ErrInvalidGraph) || !strings.Contains(err.Error(), `"y"`) {
		t.Errorf("error %v", err)
	}
}

// Floats come as raw bytes or as a packed list, in one piece or several; the count has to fit the shape.
func TestTensorFloats(t *testing.T) {
	one, two := []byte{0, 0, 128, 63}, []byte{0, 0, 0, 64}
	for name, tn := range map[string]tensor{
		"raw":    {kind: typeFloat, dims: []int{2}, raw: append(bytes.Clone(one), two...)},
		"packed": {kind: typeFloat, dims: []int{2}, packed: [][]byte{one, two}},
	} {
		if got, err := tn.floats(); err != nil || !slices.Equal(got, []float32{1, 2}) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for name, tn := range map[string]tensor{
		"short":         {kind: typeFloat, dims: []int{3}, raw: two},
		"integers":      {kind: typeInt64, dims: []int{1}, raw: two},
		"inside number": {kind: typeFloat, dims: []int{1}, packed: [][]byte{{0, 0}, {0, 0}}},
		"huge":          {kind: typeFloat, dims: []int{1 << 23, 1 << 23}, raw: two},
	} {
		if got, err := tn.floats(); err == nil {
			t.Errorf("%s: %v without an error", name, got)
		}
	}
}

func TestExternalDataIsRefused(t *testing.T) {
	msg := protowire.AppendVarint(protowire.AppendTag(nil, 14, protowire.VarintType), 1)
	if _, err := parseTensor(msg); !errors.Is(err, ErrUnsupported) {
		t.Errorf("error %v", err)
	}
}

func TestResolve(t *testing.T) {
	x := &infer.Value{Shape: []int{1, 6, 4}}
	for _, c := range []struct{ want, shape []int }{
		{[]int{1, -1, 8}, []int{1, 3, 8}},
		{[]int{0, 0, 2, -1}, []int{1, 6, 2, 2}},
		{[]int{24}, []int{24}},
		{[]int{-1, -1}, nil},
		{[]int{-2, 12}, nil},
		{[]int{1, 1, 1, 0}, nil},
		{[]int{1 << 23, 1 << 23}, nil},
	} {
		got, err := resolve(c.want, x)
		if (err != nil) != (c.shape == nil) || !slices.Equal(got, c.shape) {
			t.Errorf("%v: %v, %v; want %v", c.want, got, err, c.shape)
		}
	}
}
