package tflite

import (
	"fmt"

	"facetrack/infer"
)

func (l *loader) conv(o *operator) error {
	w, err := l.constant(o, 1)
	if err != nil {
		return err
	}
	weights := l.values[o.inputs[1]]
	if len(w.Shape) != 4 {
		return fmt.Errorf("%w: weights of shape %v; needs rank 4", ErrMalformed, w.Shape)
	}
	opt := o.options
	n := infer.Node{
		Op:       infer.Conv2D,
		Kernel:   [2]int{w.Shape[1], w.Shape[2]},
		Stride:   [2]int{opt.int32(2, 0), opt.int32(1, 0)},
		Dilation: [2]int{opt.int32(5, 1), opt.int32(4, 1)},
	}
	return l.window(o, n, weights, func(channels int) int { return channels / w.Shape[3] }, opt.int8(0), opt.int8(3))
}

// depthwise turns weights [1,KH,KW,O] into those of a convolution with one group per input channel, [O,KH,KW,1].
func (l *loader) depthwise(o *operator) error {
	w, err := l.constant(o, 1)
	if err != nil {
		return err
	}
	if len(w.Shape) != 4 || w.Shape[0] != 1 {
		return fmt.Errorf("%w: weights of shape %v; needs [1,KH,KW,O]", ErrMalformed, w.Shape)
	}
	kh, kw, out := w.Shape[1], w.Shape[2], w.Shape[3]
	if l.budget -= len(w.Data); l.budget < 0 {
		return fmt.Errorf("%w: constants are larger than the file", ErrMalformed)
	}
	data := make([]float32, len(w.Data))
	for k := range kh * kw {
		for c := range out {
			data[c*kh*kw+k] = w.Data[k*out+c]
		}
	}
	weights := l.add(infer.Value{Name: w.Name, Shape: []int{out, kh, kw, 1}, Data: data})
	opt := o.options
	n := infer.Node{
		Op:       infer.Conv2D,
		Kernel:   [2]int{kh, kw},
		Stride:   [2]int{opt.int32(2, 0), opt.int32(1, 0)},
		Dilation: [2]int{opt.int32(6, 1), opt.int32(5, 1)},
	}
	return l.window(o, n, weights, func(channels int) int { return channels }, opt.int8(0), opt.int8(4))
}

// window completes a convolution: operands, groups, pads and activation.
func (l *loader) window(o *operator, n infer.Node, weights infer.ValueID, groups func(int) int, padding, activation int) error {
	x, err := l.image(o)
	if err != nil {
		return err
	}
	n.Groups = groups(l.g.Values[x].Shape[3])
	n.Inputs = []infer.ValueID{x, weights}
	if len(o.inputs) > 2 && o.inputs[2] >= 0 {
		bias, err := l.constant(o, 2)
		if err != nil {
			return err
		}
		if len(bias.Data) != l.g.Values[weights].Shape[0] {
			return fmt.Errorf("%w: bias of shape %v for weights %v", ErrMalformed, bias.Shape, l.g.Values[weights].Shape)
		}
		n.Inputs = append(n.Inputs, l.values[o.inputs[2]])
	}
	if n.Pads, err = pads(padding, l.g.Values[x].Shape, n.Kernel, n.Stride, n.Dilation); err != nil {
		return err
	}
	return l.emitFused(n, o, activation)
}

func (l *loader) maxPool(o *operator) error {
	x, err := l.image(o)
	if err != nil {
		return err
	}
	opt := o.options
	n := infer.Node{
		Op:     infer.MaxPool2D,
		Inputs: []infer.ValueID{x},
		Kernel: [2]int{opt.int32(4, 0), opt.int32(3, 0)},
		Stride: [2]int{opt.int32(2, 0), opt.int32(1, 0)},
	}
	if n.Pads, err = pads(opt.int8(0), l.g.Values[x].Shape, n.Kernel, n.Stride, [2]int{1, 1}); err != nil {
		return err
	}
	return l.emitFused(n, o, opt.int8(5))
}

// image is the first operand, which has to be NHWC.
func (l *loader) image(o *operator) (infer.ValueID, error) {
	x, err := l.value(o, 0)
	if err != nil {
		return none, err
	}
	if s := l.g.Values[x].Shape; len(s) != 4 {
		return none, fmt.Errorf("%w: input of shape %v; needs rank 4", ErrMalformed, s)
	}
	return x, nil
}

// pads resolves SAME (0) and VALID (1). SAME makes the output ceil(input/stride) long; an odd pad goes to the far
// side, so that with stride 2 it is asymmetric.
func pads(padding int, x []int, kernel, stride, dilation [2]int) (p [4]int, err error) {
	if padding == 1 {
		return p, nil
	}
	if padding != 0 {
		return p, fmt.Errorf("%w: padding scheme %d", ErrMalformed, padding)
	}
	for a := range 2 {
		if stride[a] < 1 {
			return p, fmt.Errorf("%w: stride %v", ErrMalformed, stride)
		}
		out := (x[a+1] + stride[a] - 1) / stride[a]
		total := max((out-1)*stride[a]+(kernel[a]-1)*dilation[a]+1-x[a+1], 0)
		p[a], p[a+2] = total/2, total-total/2
	}
	return p, nil
}
