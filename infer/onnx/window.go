package onnx

import (
	"fmt"
	"math"

	"facetrack/infer"
)

func (l *loader) conv(n *node) error {
	x, err := l.asImage(n, 0)
	if err != nil {
		return err
	}
	if len(n.inputs) < 2 {
		return fmt.Errorf("%w: weights are missing", ErrMalformed)
	}
	w, err := l.reordered(n.inputs[1], fileAxis) // [O,C,KH,KW] → [O,KH,KW,C]
	if err != nil {
		return err
	}
	inputs := []infer.ValueID{x, w}
	if len(n.inputs) > 2 && n.inputs[2] != "" {
		bias, err := l.flat(n.inputs[2])
		if err != nil {
			return err
		}
		inputs = append(inputs, bias)
	}
	shape := l.g.Values[w].Shape
	out := infer.Node{Op: infer.Conv2D, Inputs: inputs, Groups: 1, Kernel: [2]int{shape[1], shape[2]}}
	if a, ok := n.attributes["group"]; ok {
		out.Groups = a.i
	}
	if out.Dilation, err = n.pair("dilations", 1); err != nil {
		return err
	}
	if err := l.window(n, &out); err != nil {
		return err
	}
	return l.emit(n, out, true)
}

func (l *loader) maxPool(n *node) error {
	x, err := l.asImage(n, 0)
	if err != nil {
		return err
	}
	out := infer.Node{Op: infer.MaxPool2D, Inputs: []infer.ValueID{x}}
	if out.Kernel, err = n.pair("kernel_shape", 0); err != nil {
		return err
	}
	dilation, err := n.pair("dilations", 1)
	if err != nil {
		return err
	}
	if n.attributes["ceil_mode"].i != 0 || dilation != [2]int{1, 1} {
		return fmt.Errorf("%w: pooling that rounds up or is dilated", ErrUnsupported)
	}
	if err := l.window(n, &out); err != nil {
		return err
	}
	return l.emit(n, out, true)
}

// window reads strides and pads.
func (l *loader) window(n *node, out *infer.Node) (err error) {
	if out.Stride, err = n.pair("strides", 1); err != nil {
		return err
	}
	switch auto := n.attributes["auto_pad"].s; auto {
	case "", "NOTSET":
	case "VALID":
		return nil
	default:
		return fmt.Errorf("%w: auto_pad %q; export with explicit pads", ErrUnsupported, auto)
	}
	if pads := n.attributes["pads"].ints; len(pads) == 4 {
		out.Pads = [4]int(pads)
	} else if len(pads) != 0 {
		return fmt.Errorf("%w: pads %v; needs 4", ErrMalformed, pads)
	}
	return nil
}

// pair is an attribute of two integers.
func (n *node) pair(name string, absent int) ([2]int, error) {
	list := n.attributes[name].ints
	switch len(list) {
	case 0:
		return [2]int{absent, absent}, nil
	case 2:
		return [2]int(list), nil
	}
	return [2]int{}, fmt.Errorf("%w: attribute %s %v; needs 2 integers", ErrMalformed, name, list)
}

// resize repeats pixels by whole factors; other modes are refused.
func (l *loader) resize(n *node) error {
	x, err := l.asImage(n, 0)
	if err != nil {
		return err
	}
	mode, place, round := n.attributes["mode"].s, n.attributes["coordinate_transformation_mode"].s, n.attributes["nearest_mode"].s
	if mode != "" && mode != "nearest" || place != "asymmetric" || round != "floor" {
		return fmt.Errorf("%w: mode %q, coordinates %q, rounding %q; only nearest, asymmetric, floor", ErrUnsupported, mode, place, round)
	}
	if len(n.inputs) != 3 {
		return fmt.Errorf("%w: %d inputs; needs constant scales as the third", ErrUnsupported, len(n.inputs))
	}
	_, s, err := l.constant(n.inputs[2])
	if err != nil {
		return err
	}
	if len(s) != 4 || s[0] != 1 || s[1] != 1 || !whole(s[2]) || !whole(s[3]) {
		return fmt.Errorf("%w: scales %v; needs whole factors of height and width", ErrUnsupported, s)
	}
	return l.emit(n, infer.Node{Op: infer.ResizeNearest, Inputs: []infer.ValueID{x}, Scale: [2]int{int(s[2]), int(s[3])}}, true)
}

func whole(s float32) bool {
	return s >= 1 && s <= 1024 && s == float32(math.Trunc(float64(s)))
}
