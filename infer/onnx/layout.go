package onnx

import (
	"fmt"

	"facetrack/infer"
)

// transpose composes the file's permutation of NCHW with where those axes are here.
func (l *loader) transpose(n *node) error {
	x, err := l.input(n, 0)
	if err != nil {
		return err
	}
	rank := len(l.g.Values[x.id].Shape)
	perm := append([]int(nil), n.attributes["perm"].ints...)
	if len(perm) == 0 {
		for a := rank - 1; a >= 0; a-- {
			perm = append(perm, a)
		}
	}
	if x.image {
		for i, p := range perm {
			if p < 0 || p > 3 {
				return fmt.Errorf("%w: permutation %v", ErrMalformed, perm)
			}
			perm[i] = imageAxis[p]
		}
	}
	return l.emit(n, infer.Node{Op: infer.Transpose, Inputs: []infer.ValueID{x.id}, Perm: perm}, false)
}

func (l *loader) reshape(n *node) error {
	x, err := l.asFile(n, 0)
	if err != nil {
		return err
	}
	if len(n.inputs) != 2 || l.tensors[n.inputs[1]] == nil {
		return fmt.Errorf("%w: the new shape must be a constant", ErrUnsupported)
	}
	want, err := l.tensors[n.inputs[1]].integers()
	if err != nil {
		return err
	}
	shape, err := resolve(want, &l.g.Values[x])
	if err != nil {
		return err
	}
	id, err := l.compute(infer.Node{Op: infer.Reshape, Inputs: []infer.ValueID{x}}, n.outputs[0], shape)
	l.values[n.outputs[0]] = operand{id: id}
	return err
}

// resolve fills in 0 (copy the dimension) and one -1 (what is left).
func resolve(want []int, x *infer.Value) ([]int, error) {
	shape := append([]int(nil), want...)
	free, known := -1, 1
	for a, d := range want {
		switch {
		case d == -1 && free < 0:
			free = a
			continue
		case d == 0 && a < len(x.Shape):
			shape[a] = x.Shape[a]
		case d < 1 || d > infer.MaxElements:
			return nil, fmt.Errorf("%w: new shape %v", ErrMalformed, want)
		}
		if known *= shape[a]; known > infer.MaxElements {
			return nil, fmt.Errorf("%w: new shape %v", ErrMalformed, want)
		}
	}
	if free >= 0 {
		shape[free] = x.Len() / known
	}
	return shape, nil
}

func (l *loader) concat(n *node) error {
	ids, image, err := l.together(n)
	if err != nil {
		return err
	}
	axis := n.attributes["axis"].i
	if axis < 0 {
		axis += len(l.g.Values[ids[0]].Shape)
	}
	if image {
		if axis < 0 || axis > 3 {
			return fmt.Errorf("%w: axis %d", ErrMalformed, axis)
		}
		axis = imageAxis[axis]
	}
	return l.emit(n, infer.Node{Op: infer.Concat, Inputs: ids, Axis: axis}, image)
}
