//go:build xnnpack

package xnnpack

// #include "native.h"
import "C"

import (
	"slices"

	"facetrack/infer"
)

// fuseDepthwise turns 3×3 depthwise convolutions, with the PRelu behind them, into depthwise nodes.
func (p *program) fuseDepthwise() {
	l, dead := p.links(), map[int]bool{}
	for i := range p.nodes {
		n := &p.nodes[i]
		channels := p.channels(n.Outputs[0])
		if !p.isPlainConv(n) || n.Groups != channels || !slices.Equal(p.shape(n.Inputs[1]), []int{channels, 3, 3, 1}) {
			continue
		}
		slope, out, tail := p.activation(n, l)
		dead[tail] = true
		n.Op, n.depth = depthwise, &taps{p.data(n.Inputs[1]), p.bias(n), slope}
		n.Inputs, n.Outputs = n.Inputs[:1:1], []infer.ValueID{out}
	}
	p.drop(dead)
}

// fewChannels is where XNNPACK's dense convolution with a larger kernel is slower than ours.
const fewChannels = 4

// fusePointwise turns 1×1 convolutions, and others of few input channels, into pointwise nodes, with a depthwise
// convolution before and a residual or a PRelu behind: each of them would be one more pass over memory.
func (p *program) fusePointwise() {
	l, dead := p.links(), map[int]bool{}
	for i := range p.nodes {
		n := &p.nodes[i]
		if dead[i] || !p.isPlainConv(n) || n.Groups > 1 {
			continue
		}
		kernel := p.shape(n.Inputs[1])
		before, tail := l.chained(p, n), p.absorbed(n, l)
		switch {
		case isOneByOne(n, kernel):
		case kernel[3] <= fewChannels && max(kernel[1], kernel[2]) <= C.FT_MAX_KERNEL:
			before = -1
		default:
			continue
		}
		fused := p.pointwise(n, tail)
		if before >= 0 {
			d := &p.nodes[before]
			fused.depth, fused.Inputs[0], fused.Stride, fused.Pads = d.depth, d.Inputs[0], d.Stride, d.Pads
			dead[before] = true
		}
		if tail < 0 {
			*n = fused
		} else { // the operand that is added may be computed after the convolution
			p.nodes[tail], dead[i] = fused, true
		}
	}
	p.drop(dead)
}

func isOneByOne(n *node, kernel []int) bool {
	return kernel[1] == 1 && kernel[2] == 1 && n.Stride[0] == 1 && n.Pads == [4]int{}
}

// chained is the depthwise node that only this convolution reads, -1 when there is none.
func (l links) chained(p *program, n *node) int {
	before := l.writer[n.Inputs[0]]
	if before < 0 || l.uses[n.Inputs[0]] != 1 || p.nodes[before].Op != depthwise || p.channels(n.Inputs[0]) > C.FT_SCRATCH {
		return -1
	}
	return before
}

// absorbed is the addition or PRelu that can become part of a convolution without an activation, -1 for none.
func (p *program) absorbed(n *node, l links) int {
	at := l.next(n.Outputs[0])
	if at < 0 || n.Activation != infer.NoActivation {
		return -1
	}
	next := &p.nodes[at]
	channels := p.channels(n.Outputs[0])
	switch {
	case next.Op == addPRelu && next.Inputs[0] == n.Outputs[0]:
		return at
	case next.Op == addPRelu && p.channels(next.Inputs[1]) == channels:
		return at
	case next.Op == infer.PRelu && len(p.data(next.Inputs[1])) == channels:
		return at
	}
	return -1
}

// pointwise makes the node for a convolution and what it absorbs.
func (p *program) pointwise(n *node, tail int) node {
	fused := *n
	fused.Op, fused.Inputs, fused.Activation = pointwise, []infer.ValueID{n.Inputs[0]}, infer.NoActivation
	fused.point = &taps{filter: p.data(n.Inputs[1]), bias: p.bias(n)}
	kernel := p.shape(n.Inputs[1])
	fused.Kernel = [2]int{kernel[1], kernel[2]}
	if tail < 0 {
		fused.point.slope = constantSlope(n.Activation, kernel[0])
		return fused
	}
	next := &p.nodes[tail]
	fused.Outputs = next.Outputs
	switch {
	case next.Op == infer.PRelu:
		fused.point.slope = p.data(next.Inputs[1])
	case next.Inputs[0] == n.Outputs[0]:
		fused.point.slope, fused.Inputs = next.slope, append(fused.Inputs, next.Inputs[1])
	default:
		fused.point.slope, fused.Inputs = next.slope, append(fused.Inputs, next.Inputs[0])
	}
	return fused
}

// constantSlope is Relu or no activation as the slopes of a PRelu.
func constantSlope(a infer.Activation, channels int) []float32 {
	slope := make([]float32, channels)
	if a == infer.NoActivation {
		for i := range slope {
			slope[i] = 1
		}
	}
	return slope
}

// isPlainConv says that a convolution can run on our kernels: enough channels, no Relu6, and isKnownConv.
func (p *program) isPlainConv(n *node) bool {
	return n.Op == infer.Conv2D && n.Activation != infer.Relu6Activation && p.channels(n.Outputs[0]) >= C.FT_MIN_CHANNELS && p.isKnownConv(n)
}

// isKnownConv says that a convolution has constant weights, one image, a square stride and no dilation.
func (p *program) isKnownConv(n *node) bool {
	known := !slices.ContainsFunc(n.Inputs[1:], func(id infer.ValueID) bool { return !p.isConstant(id) })
	return known && p.shape(n.Inputs[0])[0] == 1 && n.Stride[0] == n.Stride[1] && orOnes(n.Dilation) == [2]int{1, 1}
}

// bias gives a convolution's bias, zeros when it has none.
func (p *program) bias(n *node) []float32 {
	if len(n.Inputs) > 2 {
		return p.data(n.Inputs[2])
	}
	return make([]float32, p.shape(n.Inputs[1])[0])
}
