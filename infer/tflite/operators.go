package tflite

import (
	"fmt"

	"facetrack/infer"
)

// converters maps the schema's operator codes to what makes nodes of them.
var converters = map[int]func(*loader, *operator) error{
	0:  elementwise(infer.Add, 2, 0),
	2:  (*loader).concat,
	3:  (*loader).conv,
	4:  (*loader).depthwise,
	6:  (*loader).dequantize,
	9:  (*loader).fullyConnected,
	14: elementwise(infer.Logistic, 1, plain),
	17: (*loader).maxPool,
	18: elementwise(infer.Mul, 2, 0),
	19: elementwise(infer.Relu, 1, plain),
	22: (*loader).reshape,
	34: (*loader).pad,
	39: (*loader).transpose,
	40: reduce(infer.Mean),
	41: elementwise(infer.Sub, 2, 0),
	42: elementwise(infer.Div, 2, 0),
	45: (*loader).stridedSlice,
	54: (*loader).prelu,
	59: elementwise(infer.Neg, 1, plain),
	74: reduce(infer.Sum),
	75: elementwise(infer.Sqrt, 1, plain),
	76: elementwise(infer.Rsqrt, 1, plain),
	99: elementwise(infer.SquaredDifference, 2, plain),
}

// plain says that an operator's options have no fused activation.
const plain = -1

// elementwise converts an operator of one or two operands; field is where the options have the activation.
func elementwise(op infer.Op, operands, field int) func(*loader, *operator) error {
	return func(l *loader, o *operator) error {
		n := infer.Node{Op: op}
		for i := range operands {
			id, err := l.value(o, i)
			if err != nil {
				return err
			}
			n.Inputs = append(n.Inputs, id)
		}
		if field == plain {
			return l.emit(n, o.outputs[0])
		}
		return l.emitFused(n, o, o.options.int8(field))
	}
}

// emitFused emits a node with the schema's activation code.
func (l *loader) emitFused(n infer.Node, o *operator, code int) (err error) {
	if n.Activation, err = activation(code); err != nil {
		return err
	}
	return l.emit(n, o.outputs[0])
}

func activation(code int) (infer.Activation, error) {
	switch code {
	case 0:
		return infer.NoActivation, nil
	case 1:
		return infer.ReluActivation, nil
	case 3:
		return infer.Relu6Activation, nil
	}
	return 0, fmt.Errorf("%w: fused activation %d", ErrUnsupported, code)
}

// dequantize makes the float32 constant that a float16 constant stands for.
func (l *loader) dequantize(o *operator) error {
	in, err := l.constant(o, 0)
	if err != nil {
		return err
	}
	if l.m.tensors[o.inputs[0]].kind != typeFloat16 {
		return fmt.Errorf("%w: %q is not float16", ErrUnsupported, in.Name)
	}
	out, err := l.tensor(o.outputs[0])
	if err != nil {
		return err
	}
	if out.kind != typeFloat32 || l.values[o.outputs[0]] != none {
		return fmt.Errorf("%w: output %q must be float32 and computed once", ErrUnsupported, out.name)
	}
	l.values[o.outputs[0]] = l.values[o.inputs[0]]
	return nil
}

// prelu takes slopes of shape [..., C] with ones before the channel axis.
func (l *loader) prelu(o *operator) error {
	x, err := l.value(o, 0)
	if err != nil {
		return err
	}
	slope, err := l.constant(o, 1)
	if err != nil {
		return err
	}
	shape := slope.Shape
	if len(shape) == 0 || shape[len(shape)-1] != len(slope.Data) {
		return fmt.Errorf("%w: slopes of shape %v; only one slope per channel is known", ErrUnsupported, shape)
	}
	id := l.add(infer.Value{Name: slope.Name, Shape: []int{len(slope.Data)}, Data: slope.Data})
	return l.emit(infer.Node{Op: infer.PRelu, Inputs: []infer.ValueID{x, id}}, o.outputs[0])
}

func (l *loader) concat(o *operator) error {
	n := infer.Node{Op: infer.Concat, Axis: o.options.int32(0, 0)}
	for i := range o.inputs {
		id, err := l.value(o, i)
		if err != nil {
			return err
		}
		n.Inputs = append(n.Inputs, id)
	}
	if n.Axis < 0 {
		n.Axis += len(l.g.Values[n.Inputs[0]].Shape)
	}
	if a := o.options.int8(1); a != 0 {
		return fmt.Errorf("%w: fused activation %d", ErrUnsupported, a)
	}
	return l.emit(n, o.outputs[0])
}
