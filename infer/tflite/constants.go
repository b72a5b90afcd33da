package tflite

import (
	"encoding/binary"
	"fmt"
	"math"

	"facetrack/infer"
)

// value returns the value of an operand: an activation computed before, or a float constant.
func (l *loader) value(op *operator, i int) (infer.ValueID, error) {
	if i >= len(op.inputs) {
		return none, fmt.Errorf("%w: input %d is missing", ErrMalformed, i)
	}
	t, err := l.tensor(op.inputs[i])
	if err != nil {
		return none, err
	}
	id := &l.values[op.inputs[i]]
	if *id != none {
		return *id, nil
	}
	data, err := l.floats(t)
	if err != nil {
		return none, err
	}
	*id = l.add(infer.Value{Name: t.name, Shape: t.shape, Data: data})
	return *id, nil
}

// constant is value for an operand that has to be constant.
func (l *loader) constant(op *operator, i int) (*infer.Value, error) {
	id, err := l.value(op, i)
	if err != nil {
		return nil, err
	}
	v := l.g.Values[id]
	if v.Data == nil {
		return nil, fmt.Errorf("%w: input %d %q is not constant", ErrUnsupported, i, v.Name)
	}
	return &v, nil
}

// floats decodes a float32 or float16 constant.
func (l *loader) floats(t *tensor) ([]float32, error) {
	n, err := l.elements(t)
	if err != nil {
		return nil, err
	}
	l.budget -= n
	if l.budget < 0 {
		return nil, fmt.Errorf("%w: constants are larger than the file", ErrMalformed)
	}
	out := make([]float32, n)
	switch {
	case t.kind == typeFloat32 && len(t.data) == 4*n:
		for i := range out {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(t.data[4*i:]))
		}
	case t.kind == typeFloat16 && len(t.data) == 2*n:
		for i := range out {
			out[i] = fromHalf(binary.LittleEndian.Uint16(t.data[2*i:]))
		}
	default:
		return nil, fmt.Errorf("%w: constant %q of type %d and shape %v holds %d bytes", ErrMalformed, t.name, t.kind, t.shape, len(t.data))
	}
	return out, nil
}

// elements checks a constant's shape against the bytes it has, before anything is allocated.
func (l *loader) elements(t *tensor) (int, error) {
	if len(t.data) == 0 {
		return 0, fmt.Errorf("%w: tensor %q is neither computed before it is read nor constant", ErrMalformed, t.name)
	}
	n, err := infer.CheckShape(t.shape)
	if err != nil {
		return 0, fmt.Errorf("tensor %q: %w", t.name, err)
	}
	if n > len(t.data)/2 && t.kind != typeInt32 {
		return 0, fmt.Errorf("%w: constant %q of shape %v holds only %d bytes", ErrMalformed, t.name, t.shape, len(t.data))
	}
	return n, nil
}

// ints decodes a short integer constant: axes, pads, a permutation.
func (l *loader) ints(op *operator, i int) ([]int, error) {
	if i >= len(op.inputs) {
		return nil, fmt.Errorf("%w: input %d is missing", ErrMalformed, i)
	}
	t, err := l.tensor(op.inputs[i])
	if err != nil {
		return nil, err
	}
	size := map[int]int{typeInt32: 4, typeInt64: 8}[t.kind]
	if size == 0 || len(t.data) == 0 {
		return nil, fmt.Errorf("%w: input %q must be an integer constant", ErrUnsupported, t.name)
	}
	n, err := infer.CheckShape(t.shape)
	if err != nil || n > 2*infer.MaxRank || len(t.data) != n*size {
		return nil, fmt.Errorf("%w: integer constant %q of shape %v holds %d bytes", ErrMalformed, t.name, t.shape, len(t.data))
	}
	out := make([]int, n)
	for k := range out {
		if size == 8 {
			out[k] = int(binary.LittleEndian.Uint64(t.data[8*k:]))
		} else {
			out[k] = int(int32(binary.LittleEndian.Uint32(t.data[4*k:])))
		}
	}
	return out, nil
}

// fromHalf widens an IEEE 754 binary16 number, exactly.
func fromHalf(h uint16) float32 {
	sign, exp, frac := uint32(h>>15)<<31, uint32(h>>10&31), uint32(h&1023)
	switch exp {
	case 0: // zero and subnormals: frac × 2^-24
		f := float32(frac) * (1.0 / (1 << 24))
		return math.Float32frombits(sign | math.Float32bits(f))
	case 31:
		return math.Float32frombits(sign | 0xff<<23 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}
