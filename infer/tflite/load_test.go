package tflite

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"facetrack/infer"
	"facetrack/internal/modelbuild"
)

func TestLoadEvery(t *testing.T) {
	data := modelbuild.EveryTFLite().TFLite()
	g, err := Load(data)
	if err != nil {
		t.Fatal(err)
	}
	in, out := g.InputInfo(), g.OutputInfo()
	if len(in) != 1 || in[0].Name != "image" || !slices.Equal(in[0].Shape, []int{1, 6, 5, 2}) {
		t.Errorf("inputs %v", in)
	}
	if len(out) != 1 || out[0].Name != "scores" || !slices.Equal(out[0].Shape, []int{1, 3}) {
		t.Errorf("outputs %v", out)
	}
	used := map[infer.Op]bool{}
	for i := range g.Nodes {
		used[g.Nodes[i].Op] = true
	}
	if len(used) != 20 { // all of the representation but ResizeNearest
		t.Errorf("%d operators are used: %v; want 20", len(used), used)
	}
	constants := append([]float32(nil), g.Values[1].Data...)
	clear(data)
	if !slices.Equal(constants, g.Values[1].Data) {
		t.Error("constants alias the file")
	}
}

// Any cut and any flipped bit gives an error of this package's kinds or a valid graph, never a panic.
func TestDamagedFiles(t *testing.T) {
	data := modelbuild.EveryTFLite().TFLite()
	for n := range len(data) - 8 {
		check(t, data[:n], true)
	}
	for i := 0; i < 8*len(data); i += 11 { // visits every position of a bit in a byte
		flipped := bytes.Clone(data)
		flipped[i/8] ^= 1 << (i % 8)
		check(t, flipped, false)
	}
}

func check(t *testing.T, data []byte, mustFail bool) {
	t.Helper()
	g, err := Load(data)
	switch {
	case err == nil && mustFail:
		t.Errorf("a model cut to %d bytes was loaded", len(data))
	case err == nil:
		if err := g.Validate(); err != nil {
			t.Error(err)
		}
	case !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrUnsupported) && !errors.Is(err, infer.ErrInvalidGraph):
		t.Errorf("error %v is of no known kind", err)
	}
}

func TestErrorsNameTheOperator(t *testing.T) {
	for _, c := range []struct {
		op   operator
		says string
	}{
		{operator{code: 25}, "SOFTMAX"},
		{operator{code: 32, custom: "TransposeConvBias"}, `CUSTOM "TransposeConvBias"`},
		{operator{code: 9999}, "number 9999"},
	} {
		err := newLoader(&model{}).operator(&c.op)
		if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("error %v; want one that names %s", err, c.says)
		}
	}
}

// The numbers of the operators are those of the schema.
func TestOperatorCodes(t *testing.T) {
	var names []string
	for code := range operatorNames {
		if converters[code] != nil {
			names = append(names, operatorNames[code])
		}
	}
	want := strings.Fields(`ADD CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEQUANTIZE FULLY_CONNECTED LOGISTIC MAX_POOL_2D MUL RELU RESHAPE PAD
		TRANSPOSE MEAN SUB DIV STRIDED_SLICE PRELU NEG SUM SQRT RSQRT SQUARED_DIFFERENCE`)
	if !slices.Equal(names, want) || len(converters) != len(want) {
		t.Errorf("operators %q; want %q", names, want)
	}
}

// Constants are bounded by the file: by what a tensor says it holds, and by how often a buffer is shared.
func TestConstantsAreBounded(t *testing.T) {
	l := newLoader(&model{size: 4000})
	if _, err := l.floats(&tensor{name: "big", shape: []int{1 << 11, 1 << 12}, data: make([]byte, 64)}); !errors.Is(err, ErrMalformed) {
		t.Errorf("8 million elements from 64 bytes: error %v", err)
	}
	shared := &tensor{name: "shared", shape: []int{500}, data: make([]byte, 2000)}
	var err error
	decoded := 0
	for ; err == nil && decoded < 1000; decoded++ {
		_, err = l.floats(shared)
	}
	if !errors.Is(err, ErrMalformed) || decoded > 12 {
		t.Errorf("a buffer of 2000 bytes of a file of 4000 was decoded %d times: error %v", decoded, err)
	}
}

func TestFromHalf(t *testing.T) {
	for h, want := range map[uint16]float32{
		0x0000: 0, 0x0001: 1.0 / (1 << 24), 0x03ff: 1023.0 / (1 << 24), 0x0400: 1.0 / (1 << 14), 0x3555: 0.333251953125,
		0x3c00: 1, 0x3c01: 1.0009765625, 0xc000: -2, 0x7bff: 65504,
	} {
		if got := fromHalf(h); got != want {
			t.Errorf("%#04x is %g; want %g", h, got, want)
		}
	}
	if v := fromHalf(0xfc00); v >= -65504 || v == v && v*0 == 0 {
		t.Errorf("0xfc00 is %g; want -Inf", v)
	}
	if v := fromHalf(0x7e00); v == v {
		t.Errorf("0x7e00 is %g; want NaN", v)
	}
}
