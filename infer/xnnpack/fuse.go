//go:build xnnpack

package xnnpack

// #include "native.h"
import "C"

import (
	"slices"

	"facetrack/infer"
)

// fuseAdds turns an Add of two activations into addPRelu, with the PRelu behind it and without the Pad that
// appends channels to one operand.
func (p *program) fuseAdds() {
	l, dead := p.links(), map[int]bool{}
	for i := range p.nodes {
		n := &p.nodes[i]
		if n.Op != infer.Add || n.Activation == infer.Relu6Activation || !p.sameShapeActivations(n) {
			continue
		}
		x, y := n.Inputs[0], n.Inputs[1]
		if p.isPadded(x, l) {
			x, y = y, x
		}
		if p.isPadded(y, l) && p.channels(p.nodes[l.writer[y]].Inputs[0]) >= C.FT_MIN_CHANNELS {
			dead[l.writer[y]] = true
			y = p.nodes[l.writer[y]].Inputs[0]
		}
		if p.channels(y) < C.FT_MIN_CHANNELS {
			continue
		}
		slope, out, tail := p.activation(n, l)
		dead[tail] = true
		p.nodes[i] = node{
			Node:  infer.Node{Op: addPRelu, Name: n.Name, Inputs: []infer.ValueID{x, y}, Outputs: []infer.ValueID{out}},
			slope: slope,
		}
	}
	p.drop(dead)
}

// activation gives the slopes of what is behind a node: its own activation, or the PRelu that alone reads it.
// It returns the value to write and the node that becomes dead, -1 for none.
func (p *program) activation(n *node, l links) (slope []float32, out infer.ValueID, dead int) {
	out = n.Outputs[0]
	channels := p.channels(out)
	tail := l.next(out)
	if n.Activation == infer.NoActivation && tail >= 0 && p.nodes[tail].Op == infer.PRelu && len(p.data(p.nodes[tail].Inputs[1])) == channels {
		return p.data(p.nodes[tail].Inputs[1]), p.nodes[tail].Outputs[0], tail
	}
	return constantSlope(n.Activation, channels), out, -1
}

func (p *program) sameShapeActivations(n *node) bool {
	x, y := n.Inputs[0], n.Inputs[1]
	return !p.isConstant(x) && !p.isConstant(y) && slices.Equal(p.shape(x), p.shape(y))
}

func (p *program) isPadded(id infer.ValueID, l links) bool {
	at := l.writer[id]
	return at >= 0 && l.uses[id] == 1 && p.nodes[at].Op == infer.Pad && isChannelTail(&p.nodes[at])
}

// fuseResizeAdd joins a ResizeNearest with the addition that is its only reader: the other operand becomes the
// resize's second input.
func (p *program) fuseResizeAdd() {
	l, dead := p.links(), map[int]bool{}
	for i := range p.nodes {
		n := &p.nodes[i]
		if n.Op != addPRelu || !allOnes(n.slope) {
			continue
		}
		for k, id := range n.Inputs {
			at := l.writer[id]
			other := n.Inputs[1-k]
			if at < 0 || l.uses[id] != 1 || p.nodes[at].Op != infer.ResizeNearest || !slices.Equal(p.shape(id), p.shape(other)) {
				continue
			}
			fused := p.nodes[at]
			fused.Inputs, fused.Outputs = []infer.ValueID{fused.Inputs[0], other}, n.Outputs
			p.nodes[i], dead[at] = fused, true
			break
		}
	}
	p.drop(dead)
}
