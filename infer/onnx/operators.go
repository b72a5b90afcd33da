package onnx

import (
	"fmt"

	"facetrack/infer"
)

// converters maps operator names to what makes nodes of them.
var converters = map[string]func(*loader, *node) error{
	"Add":       broadcast(infer.Add),
	"Cast":      (*loader).cast,
	"Concat":    (*loader).concat,
	"Constant":  (*loader).constantNode,
	"Conv":      (*loader).conv,
	"Div":       broadcast(infer.Div),
	"Identity":  (*loader).identity,
	"MaxPool":   (*loader).maxPool,
	"Mul":       broadcast(infer.Mul),
	"Neg":       unary(infer.Neg),
	"PRelu":     (*loader).prelu,
	"Relu":      unary(infer.Relu),
	"Reshape":   (*loader).reshape,
	"Resize":    (*loader).resize,
	"Sigmoid":   unary(infer.Logistic),
	"Sqrt":      unary(infer.Sqrt),
	"Sub":       broadcast(infer.Sub),
	"Transpose": (*loader).transpose,
}

func unary(op infer.Op) func(*loader, *node) error {
	return func(l *loader, n *node) error {
		x, err := l.input(n, 0)
		if err != nil {
			return err
		}
		return l.emit(n, infer.Node{Op: op, Inputs: []infer.ValueID{x.id}}, x.image)
	}
}

func broadcast(op infer.Op) func(*loader, *node) error {
	return func(l *loader, n *node) error {
		ids, image, err := l.together(n)
		if err != nil {
			return err
		}
		return l.emit(n, infer.Node{Op: op, Inputs: ids}, image)
	}
}

func (l *loader) identity(n *node) error {
	if t, ok := l.tensors[n.inputs[0]]; ok {
		l.tensors[n.outputs[0]] = t
		return nil
	}
	x, err := l.input(n, 0)
	l.values[n.outputs[0]] = x
	return err
}

func (l *loader) constantNode(n *node) error {
	t := n.attributes["value"].tensor
	if t == nil {
		return fmt.Errorf("%w: a constant without the attribute value", ErrUnsupported)
	}
	l.tensors[n.outputs[0]] = t
	return nil
}

// prelu takes one slope per channel: [C,1,1] behind an image, else along the last axis.
func (l *loader) prelu(n *node) error {
	x, err := l.input(n, 0)
	if err != nil {
		return err
	}
	if len(n.inputs) != 2 {
		return fmt.Errorf("%w: %d inputs; needs 2", ErrMalformed, len(n.inputs))
	}
	slope, err := l.flat(n.inputs[1])
	if err != nil {
		return err
	}
	dims, channels := l.tensors[n.inputs[1]].dims, l.g.Values[slope].Shape[0]
	axis := len(dims) - 1
	if x.image {
		axis -= 2
	}
	if axis < 0 || dims[axis] != channels {
		return fmt.Errorf("%w: slopes of shape %v; needs one per channel", ErrUnsupported, dims)
	}
	return l.emit(n, infer.Node{Op: infer.PRelu, Inputs: []infer.ValueID{x.id, slope}}, x.image)
}
