//go:build xnnpack

package xnnpack

// #include <xnnpack.h>
import "C"

import "fmt"

// defineConv picks XNNPACK's depthwise operator when every group has one input channel.
func (b *operator) defineConv(n *node) error {
	for _, id := range n.Inputs[1:] {
		if !b.p.isConstant(id) {
			return fmt.Errorf("%w: weight %q is computed; it must be a constant", ErrUnsupported, b.p.values[id].Name)
		}
	}
	shape := b.p.shape(n.Inputs[1])
	bias, err := b.bias(n, shape[0])
	if err != nil {
		return err
	}
	groups := max(n.Groups, 1)
	if groups > 1 && shape[3] == 1 {
		return b.defineDepthwise(n, bias, groups)
	}
	filter, err := b.constant(shape, b.p.data(n.Inputs[1]))
	if err != nil {
		return err
	}
	low, high := clamp(n.Activation)
	stride, dilation := orOnes(n.Stride), orOnes(n.Dilation)
	status := C.xnn_define_convolution_2d(b.graph,
		C.uint32_t(n.Pads[0]), C.uint32_t(n.Pads[3]), C.uint32_t(n.Pads[2]), C.uint32_t(n.Pads[1]),
		C.uint32_t(shape[1]), C.uint32_t(shape[2]), C.uint32_t(stride[0]), C.uint32_t(stride[1]),
		C.uint32_t(dilation[0]), C.uint32_t(dilation[1]), C.uint32_t(groups), C.size_t(shape[3]), C.size_t(shape[0]/groups),
		low, high, b.ids[n.Inputs[0]], filter, bias, b.ids[n.Outputs[0]], 0)
	return check(status, "define Conv2D")
}

func (b *operator) defineDepthwise(n *node, bias C.uint32_t, channels int) error {
	shape := b.p.shape(n.Inputs[1])
	data := channelsLast(b.p.data(n.Inputs[1]), shape[0])
	filter, err := b.constant([]int{1, shape[1], shape[2], shape[0]}, data)
	if err != nil {
		return err
	}
	low, high := clamp(n.Activation)
	stride, dilation := orOnes(n.Stride), orOnes(n.Dilation)
	status := C.xnn_define_depthwise_convolution_2d(b.graph,
		C.uint32_t(n.Pads[0]), C.uint32_t(n.Pads[3]), C.uint32_t(n.Pads[2]), C.uint32_t(n.Pads[1]),
		C.uint32_t(shape[1]), C.uint32_t(shape[2]), C.uint32_t(stride[0]), C.uint32_t(stride[1]),
		C.uint32_t(dilation[0]), C.uint32_t(dilation[1]), C.uint32_t(shape[0]/channels), C.size_t(channels),
		low, high, b.ids[n.Inputs[0]], filter, bias, b.ids[n.Outputs[0]], 0)
	return check(status, "define depthwise Conv2D")
}

// channelsLast turns [O, taps] into [taps, O], the order of a depthwise filter.
func channelsLast(data []float32, channels int) []float32 {
	taps := len(data) / channels
	out := make([]float32, len(data))
	for c := range channels {
		for t := range taps {
			out[t*channels+c] = data[c*taps+t]
		}
	}
	return out
}

// bias makes the bias tensor, zeros when the node has none.
func (b *operator) bias(n *node, channels int) (C.uint32_t, error) {
	return b.constant([]int{channels}, b.p.bias(n))
}
