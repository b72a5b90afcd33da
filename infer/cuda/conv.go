package gpu

import (
	"slices"

	"facetrack/infer"
)

// channels is the extent of the last axis of an image.
func (p *program) channels(id infer.ValueID) int { return p.shape(id)[3] }

// isDepthwise says that a convolution has one kernel for each channel.
func (p *program) isDepthwise(o *op) bool {
	return o.Op == infer.Conv2D && o.Groups == p.channels(o.Inputs[0]) && o.Groups == p.channels(o.out()) && o.front == nil
}

// isDense says that a convolution reads all channels for each of its outputs. With one channel in and out it counts as depthwise.
func (p *program) isDense(o *op) bool {
	return o.Op == infer.Conv2D && o.Groups == 1 && !p.isDepthwise(o)
}

// isPointwise says that a dense convolution computes each pixel from that pixel.
func (p *program) isPointwise(o *op) bool {
	one := [2]int{1, 1}
	return p.isDense(o) && o.Kernel == one && o.Stride == one && o.Pads == [4]int{} && o.front == nil
}

// isPlain says that an operator has nothing behind it.
func isPlain(o *op) bool { return o.act == 0 && o.residual == 0 }

// isHalving says that a pool takes the maxima over 2×2 of an image of even height and width.
func (p *program) isHalving(o *op) bool {
	two, in := [2]int{2, 2}, p.shape(o.Inputs[0])
	return o.Op == infer.MaxPool2D && o.Kernel == two && o.Stride == two && o.Pads == [4]int{} && isPlain(o) && in[1]%2+in[2]%2 == 0
}

// appendsChannels says that a Pad only adds channels behind the others.
func appendsChannels(o *op) bool {
	last := len(o.Before) - 1
	return o.Op == infer.Pad && last == 3 && o.Before[last] == 0 &&
		!slices.ContainsFunc(slices.Concat(o.Before[:last], o.After[:last]), func(n int) bool { return n != 0 })
}
