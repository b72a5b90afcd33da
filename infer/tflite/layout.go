package tflite

import (
	"fmt"
	"slices"

	"facetrack/infer"
)

func (l *loader) transpose(o *operator) error {
	x, err := l.value(o, 0)
	if err != nil {
		return err
	}
	perm, err := l.ints(o, 1)
	if err != nil {
		return err
	}
	for i := range perm {
		if perm[i] < 0 {
			perm[i] += len(perm)
		}
	}
	return l.emit(infer.Node{Op: infer.Transpose, Inputs: []infer.ValueID{x}, Perm: perm}, o.outputs[0])
}

// reshape takes the shape from the output tensor, which the converter has resolved.
func (l *loader) reshape(o *operator) error {
	x, err := l.value(o, 0)
	if err != nil {
		return err
	}
	return l.emit(infer.Node{Op: infer.Reshape, Inputs: []infer.ValueID{x}}, o.outputs[0])
}

func (l *loader) pad(o *operator) error {
	x, err := l.value(o, 0)
	if err != nil {
		return err
	}
	pairs, err := l.ints(o, 1)
	if err != nil {
		return err
	}
	if len(pairs) != 2*len(l.g.Values[x].Shape) {
		return fmt.Errorf("%w: %d pads for rank %d", ErrMalformed, len(pairs), len(l.g.Values[x].Shape))
	}
	n := infer.Node{Op: infer.Pad, Inputs: []infer.ValueID{x}}
	for i := 0; i < len(pairs); i += 2 {
		n.Before, n.After = append(n.Before, pairs[i]), append(n.After, pairs[i+1])
	}
	return l.emit(n, o.outputs[0])
}

func reduce(op infer.Op) func(*loader, *operator) error {
	return func(l *loader, o *operator) error {
		x, err := l.value(o, 0)
		if err != nil {
			return err
		}
		axes, err := l.ints(o, 1)
		if err != nil {
			return err
		}
		for i := range axes {
			if axes[i] < 0 {
				axes[i] += len(l.g.Values[x].Shape)
			}
		}
		slices.Sort(axes)
		n := infer.Node{Op: op, Inputs: []infer.ValueID{x}, Axes: slices.Compact(axes), KeepDims: o.options.bool(0)}
		return l.emit(n, o.outputs[0])
	}
}

// stridedSlice resolves masks and negative bounds; axes that the mask drops go in a Reshape behind the slice.
func (l *loader) stridedSlice(o *operator) error {
	x, err := l.value(o, 0)
	if err != nil {
		return err
	}
	var bounds [3][]int // begin, end, stride
	for i := range bounds {
		if bounds[i], err = l.ints(o, i+1); err != nil {
			return err
		}
	}
	n := infer.Node{Op: infer.StridedSlice, Inputs: []infer.ValueID{x}}
	shape := l.g.Values[x].Shape
	if k := len(bounds[0]); k != len(bounds[1]) || k != len(bounds[2]) || k > len(shape) {
		return fmt.Errorf("%w: begin, end and strides %v for shape %v", ErrMalformed, bounds, shape)
	}
	if o.options.int32(2, 0) != 0 || o.options.int32(3, 0) != 0 {
		return fmt.Errorf("%w: ellipsis or new-axis mask", ErrUnsupported)
	}
	for a, d := range shape {
		b, e, s := 0, d, 1
		if a < len(bounds[0]) {
			b, e, s = o.sliceAxis(a, d, bounds[0][a], bounds[1][a], bounds[2][a])
		}
		n.Begin, n.End, n.Steps = append(n.Begin, b), append(n.End, e), append(n.Steps, s)
	}
	if o.options.int32(4, 0) == 0 {
		return l.emit(n, o.outputs[0])
	}
	full, err := l.emitInner(n, l.m.tensors[o.inputs[0]].name+"/slice")
	if err != nil {
		return err
	}
	return l.emit(infer.Node{Op: infer.Reshape, Inputs: []infer.ValueID{full}}, o.outputs[0])
}

// sliceAxis resolves one axis of d elements. Bounds that make no sense are left for the shape check to refuse.
func (o *operator) sliceAxis(a, d, begin, end, step int) (b, e, s int) {
	mask := func(field int) bool { return o.options.int32(field, 0)>>a&1 != 0 }
	if begin < 0 {
		begin += d
	}
	if end < 0 {
		end += d
	}
	if mask(4) { // one element, the axis disappears
		return begin, begin + 1, 1
	}
	begin, end = min(max(begin, 0), d), min(max(end, 0), d)
	if mask(0) {
		begin = 0
	}
	if mask(1) {
		end = d
	}
	return begin, end, step
}
