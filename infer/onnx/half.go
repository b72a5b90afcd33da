package onnx

import (
	"encoding/binary"
	"fmt"
	"math"

	"facetrack/infer"
	"facetrack/internal/half"
)

const typeHalf = 10 // of TensorProto: float16

// cast makes a float32 constant of a float16 one, which is how files keep weights in half of the space.
func (l *loader) cast(n *node) error {
	t, ok := l.tensors[n.inputs[0]]
	if !ok || t.kind != typeHalf || n.attributes["to"].i != typeFloat {
		return fmt.Errorf("%w: only constants of float16 become float32", ErrUnsupported)
	}
	count, err := infer.CheckShape(t.dims)
	if err != nil {
		return fmt.Errorf("constant %q: %w", t.name, err)
	}
	if len(t.raw) != 2*count {
		return fmt.Errorf("%w: constant %q of shape %v holds %d bytes", ErrMalformed, t.name, t.dims, len(t.raw))
	}
	if l.budget -= count; l.budget < 0 {
		return fmt.Errorf("%w: constants are larger than the file", ErrMalformed)
	}
	out := &tensor{name: n.outputs[0], kind: typeFloat, dims: t.dims, raw: make([]byte, 0, 4*count)}
	for h := t.raw; len(h) >= 2; h = h[2:] {
		v := half.ToFloat32(binary.LittleEndian.Uint16(h))
		out.raw = binary.LittleEndian.AppendUint32(out.raw, math.Float32bits(v))
	}
	l.tensors[out.name] = out
	return nil
}
