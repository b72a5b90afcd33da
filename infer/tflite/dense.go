package tflite

import (
	"fmt"

	"facetrack/infer"
)

// fullyConnected makes a 1×1 convolution of weights [O,K] over rows of K elements, between two reshapes.
func (l *loader) fullyConnected(o *operator) error {
	x, err := l.value(o, 0)
	if err != nil {
		return err
	}
	w, err := l.constant(o, 1)
	if err != nil {
		return err
	}
	if len(w.Shape) != 2 || o.options.int8(1) != 0 {
		return fmt.Errorf("%w: weights of shape %v in format %d; needs [O,K] in format 0", ErrUnsupported, w.Shape, o.options.int8(1))
	}
	units, depth := w.Shape[0], w.Shape[1]
	rows, err := l.reshaped(x, l.g.Values[x].Len()/depth, 1, 1, depth)
	if err != nil {
		return err
	}
	weights := l.add(infer.Value{Name: w.Name, Shape: []int{units, 1, 1, depth}, Data: w.Data})
	one := [2]int{1, 1}
	n := infer.Node{Op: infer.Conv2D, Inputs: []infer.ValueID{rows, weights}, Kernel: one, Stride: one, Dilation: one, Groups: 1}
	if len(o.inputs) > 2 && o.inputs[2] >= 0 {
		if _, err := l.constant(o, 2); err != nil {
			return err
		}
		n.Inputs = append(n.Inputs, l.values[o.inputs[2]])
	}
	if n.Activation, err = activation(o.options.int8(0)); err != nil {
		return err
	}
	sums, err := l.emitInner(n, w.Name+"/sums")
	if err != nil {
		return err
	}
	return l.emit(infer.Node{Op: infer.Reshape, Inputs: []infer.ValueID{sums}}, o.outputs[0])
}

// reshaped appends a reshape to a shape that the file does not name.
func (l *loader) reshaped(x infer.ValueID, shape ...int) (infer.ValueID, error) {
	v := &l.g.Values[x]
	n := infer.Node{Op: infer.Reshape, Name: v.Name + "/rows", Inputs: []infer.ValueID{x}}
	n.Outputs = []infer.ValueID{l.add(infer.Value{Name: n.Name, Shape: shape})}
	if _, err := l.g.OutputShape(&n); err != nil {
		return none, err
	}
	l.g.Nodes = append(l.g.Nodes, n)
	return n.Outputs[0], nil
}
