package onnx

import (
	"fmt"

	"facetrack/infer"
	"facetrack/infer/internal/kernel"
)

// Positions of N, C, H, W in an image here, and of N, H, W, C in one in the file.
var (
	imageAxis = []int{0, 3, 1, 2}
	fileAxis  = []int{0, 2, 3, 1}
)

// input returns an activation. A constant becomes one in the file's own layout.
func (l *loader) input(n *node, i int) (operand, error) {
	if i >= len(n.inputs) {
		return operand{}, fmt.Errorf("%w: input %d is missing", ErrMalformed, i)
	}
	name := n.inputs[i]
	if v, ok := l.values[name]; ok {
		return v, nil
	}
	t, data, err := l.constant(name)
	if err != nil {
		return operand{}, err
	}
	v := operand{id: l.add(infer.Value{Name: name, Shape: t.dims, Data: data})}
	l.values[name] = v
	return v, nil
}

// constant decodes a float constant of the file.
func (l *loader) constant(name string) (*tensor, []float32, error) {
	t, ok := l.tensors[name]
	if !ok {
		return nil, nil, fmt.Errorf("%w: %q is neither computed before it is read nor constant", ErrMalformed, name)
	}
	n, err := infer.CheckShape(t.dims)
	if err != nil {
		return nil, nil, fmt.Errorf("constant %q: %w", name, err)
	}
	if l.budget -= n; l.budget < 0 {
		return nil, nil, fmt.Errorf("%w: constants are larger than the file", ErrMalformed)
	}
	data, err := t.floats()
	return t, data, err
}

// reordered is a constant with its axes permuted, first padded with leading axes of length 1 to the rank of perm.
func (l *loader) reordered(name string, perm []int) (infer.ValueID, error) {
	t, data, err := l.constant(name)
	if err != nil {
		return 0, err
	}
	shape := t.dims
	if len(shape) > len(perm) {
		return 0, fmt.Errorf("%w: constant %q of shape %v beside an image", ErrUnsupported, name, shape)
	}
	for len(shape) < len(perm) {
		shape = append([]int{1}, shape...)
	}
	view := kernel.Dense(shape).Transpose(perm)
	index := view.Indices()
	out := make([]float32, len(index))
	for i, at := range index {
		out[i] = data[at]
	}
	return l.add(infer.Value{Name: name, Shape: view.Shape, Data: out}), nil
}

// flat is a constant as [len], for biases and slopes.
func (l *loader) flat(name string) (infer.ValueID, error) {
	_, data, err := l.constant(name)
	if err != nil {
		return 0, err
	}
	return l.add(infer.Value{Name: name, Shape: []int{len(data)}, Data: data}), nil
}

// asImage returns input i as NHWC; what the file made itself is transposed.
func (l *loader) asImage(n *node, i int) (infer.ValueID, error) {
	v, err := l.input(n, i)
	if err != nil || v.image {
		return v.id, err
	}
	return l.compute(infer.Node{Op: infer.Transpose, Inputs: []infer.ValueID{v.id}, Perm: fileAxis}, n.inputs[i]+"/nhwc", nil)
}

// asFile returns input i in the file's own layout.
func (l *loader) asFile(n *node, i int) (infer.ValueID, error) {
	v, err := l.input(n, i)
	if err != nil || !v.image {
		return v.id, err
	}
	return l.compute(infer.Node{Op: infer.Transpose, Inputs: []infer.ValueID{v.id}, Perm: imageAxis}, n.inputs[i]+"/nchw", nil)
}

// together returns all inputs in one layout: as images when one of them is one and no computed list is among them.
func (l *loader) together(n *node) (ids []infer.ValueID, image bool, err error) {
	lists := false
	for _, name := range n.inputs {
		v, computed := l.activation(name)
		image = image || v.image
		lists = lists || computed && !v.image && len(l.g.Values[v.id].Shape) != 4
	}
	image = image && !lists
	for i, name := range n.inputs {
		id, err := l.operandAs(n, i, name, image)
		if err != nil {
			return nil, false, err
		}
		ids = append(ids, id)
	}
	return ids, image, nil
}

func (l *loader) operandAs(n *node, i int, name string, image bool) (infer.ValueID, error) {
	switch _, computed := l.activation(name); {
	case !image:
		return l.asFile(n, i)
	case computed:
		return l.asImage(n, i)
	}
	return l.reordered(name, fileAxis)
}

// activation finds what an input or a node, not a constant, defined.
func (l *loader) activation(name string) (operand, bool) {
	v, ok := l.values[name]
	return v, ok && l.g.Values[v.id].Data == nil
}
