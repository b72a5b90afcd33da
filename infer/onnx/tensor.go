package onnx

import (
	"encoding/binary"
	"fmt"
	"math"

	"facetrack/infer"

	"google.golang.org/protobuf/encoding/protowire"
)

// Data types of TensorProto that are read.
const (
	typeFloat = 1
	typeInt32 = 6
	typeInt64 = 7
)

// tensor is a constant; its elements are decoded when a node needs them.
type tensor struct {
	name   string
	kind   int
	dims   []int
	raw    []byte   // little endian
	packed [][]byte // float_data: packed fixed32
	ints   []int    // int64_data or int32_data; few
}

func parseTensor(msg []byte) (*tensor, error) {
	t := &tensor{}
	err := fields("tensor", msg, func(f field) (err error) {
		switch f.num {
		case 1:
			t.dims, err = appendInts("tensor dimensions", t.dims, f, infer.MaxRank)
		case 2:
			t.kind = int(f.number)
		case 4:
			return t.floatData(f)
		case 5, 7:
			t.ints, err = appendInts("integer constant", t.ints, f, maxInts)
		case 8:
			t.name = string(f.bytes)
		case 9:
			t.raw = f.bytes
		case 13, 14:
			if f.number != 0 || len(f.bytes) > 0 {
				return fmt.Errorf("%w: constant %q is kept in another file", ErrUnsupported, t.name)
			}
		}
		return err
	})
	return t, err
}

func (t *tensor) floatData(f field) error {
	if f.bytes == nil {
		return fmt.Errorf("%w: constant %q: float_data is not packed", ErrUnsupported, t.name)
	}
	if len(f.bytes) > 0 {
		t.packed = append(t.packed, f.bytes)
	}
	return nil
}

// floats decodes a float32 constant of n elements.
func (t *tensor) floats() ([]float32, error) {
	n, err := infer.CheckShape(t.dims)
	if err != nil {
		return nil, fmt.Errorf("constant %q: %w", t.name, err)
	}
	if t.kind != typeFloat {
		return nil, fmt.Errorf("%w: constant %q has data type %d; needs float32 (%d)", ErrUnsupported, t.name, t.kind, typeFloat)
	}
	have := len(t.raw)
	for _, p := range t.packed {
		have += len(p)
	}
	if have != 4*n {
		return nil, fmt.Errorf("%w: constant %q of shape %v holds %d bytes", ErrMalformed, t.name, t.dims, have)
	}
	out := make([]float32, 0, n)
	for _, b := range append([][]byte{t.raw}, t.packed...) {
		for ; len(b) >= 4; b = b[4:] {
			out = append(out, math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
	}
	if len(out) != n {
		return nil, fmt.Errorf("%w: constant %q is cut inside a number", ErrMalformed, t.name)
	}
	return out, nil
}

// integers decodes a short integer constant, such as a shape.
func (t *tensor) integers() ([]int, error) {
	n, err := infer.CheckShape(t.dims)
	if err != nil {
		return nil, fmt.Errorf("constant %q: %w", t.name, err)
	}
	out := append([]int(nil), t.ints...)
	size := map[int]int{typeInt32: 4, typeInt64: 8}[t.kind]
	if size == 0 || len(t.raw) > size*maxInts {
		return nil, fmt.Errorf("%w: constant %q of data type %d; needs a few integers", ErrUnsupported, t.name, t.kind)
	}
	for b := t.raw; len(b) >= size; b = b[size:] {
		if size == 8 {
			v, _ := protowire.ConsumeFixed64(b)
			out = append(out, int(v))
		} else {
			v, _ := protowire.ConsumeFixed32(b)
			out = append(out, int(int32(v)))
		}
	}
	if len(out) != n {
		return nil, fmt.Errorf("%w: integer constant %q of shape %v holds %d numbers", ErrMalformed, t.name, t.dims, len(out))
	}
	return out, nil
}
