//go:build xnnpack

package xnnpack

// #include "native.h"
import "C"

import (
	"slices"

	"facetrack/infer"
)

// head is a 1×1 convolution to a few channels, and the 3×3 depthwise convolution that alone reads it.
type head struct{ point, depth int }

// mergeHeads makes one wide head of the narrow ones that read the same value, and slices its result: alone each would
// leave most of a vector empty.
func (p *program) mergeHeads() {
	l, dead := p.links(), map[int]bool{}
	groups := map[infer.ValueID][]head{}
	for i := range p.nodes {
		if h, ok := p.matchHead(i, l); ok {
			x := p.nodes[i].Inputs[0]
			groups[x] = append(groups[x], h)
		}
	}
	merged := map[int][]node{} // by the first head's convolution, where they go
	for _, heads := range groups {
		if nodes, ok := p.mergeGroup(heads); ok {
			merged[heads[0].point] = nodes
			for _, h := range heads {
				dead[h.point], dead[h.depth] = true, true
			}
		}
	}
	nodes := make([]node, 0, len(p.nodes))
	for i := range p.nodes {
		nodes = append(nodes, merged[i]...)
		if !dead[i] {
			nodes = append(nodes, p.nodes[i])
		}
	}
	p.nodes = nodes
}

// matchHead says whether a head that is too narrow for our kernels starts at node i.
func (p *program) matchHead(i int, l links) (head, bool) {
	n := &p.nodes[i]
	if n.Op != infer.Conv2D || n.Groups > 1 || n.Activation != infer.NoActivation || !p.isKnownConv(n) ||
		!isOneByOne(n, p.shape(n.Inputs[1])) || p.channels(n.Outputs[0]) >= C.FT_MIN_CHANNELS {
		return head{}, false
	}
	at := l.next(n.Outputs[0])
	if at < 0 || p.nodes[at].Op != infer.Conv2D {
		return head{}, false
	}
	d := &p.nodes[at]
	channels := p.channels(n.Outputs[0])
	same := d.Pads == [4]int{1, 1, 1, 1} && orOnes(d.Stride) == [2]int{1, 1} && d.Activation == infer.NoActivation
	return head{i, at}, same && p.isKnownConv(d) && max(d.Groups, 1) == channels && slices.Equal(p.shape(d.Inputs[1]), []int{channels, 3, 3, 1})
}

// mergeGroup makes the nodes for some heads, if together they are wide enough.
func (p *program) mergeGroup(heads []head) ([]node, bool) {
	var point, depth struct{ filter, bias []float32 }
	for _, h := range heads {
		n, d := &p.nodes[h.point], &p.nodes[h.depth]
		point.filter, point.bias = append(point.filter, p.data(n.Inputs[1])...), append(point.bias, p.bias(n)...)
		depth.filter, depth.bias = append(depth.filter, p.data(d.Inputs[1])...), append(depth.bias, p.bias(d)...)
	}
	channels := len(point.bias)
	if channels < C.FT_MIN_CHANNELS {
		return nil, false
	}
	n, d := p.nodes[heads[0].point], p.nodes[heads[0].depth]
	shape := slices.Clone(p.shape(n.Outputs[0]))
	shape[3] = channels
	mid, wide := p.newValue(n.Outputs[0], shape), p.newValue(d.Outputs[0], shape)
	n.Inputs = []infer.ValueID{n.Inputs[0], p.newConstant(point.filter, channels, 1, 1, p.channels(n.Inputs[0])), p.newConstant(point.bias, channels)}
	d.Inputs = []infer.ValueID{mid, p.newConstant(depth.filter, channels, 3, 3, 1), p.newConstant(depth.bias, channels)}
	n.Outputs, d.Outputs, d.Groups = []infer.ValueID{mid}, []infer.ValueID{wide}, channels
	nodes, first := []node{n, d}, 0
	for _, h := range heads {
		out := p.nodes[h.depth].Outputs
		end := first + p.channels(out[0])
		nodes = append(nodes, node{Node: infer.Node{
			Op: infer.StridedSlice, Name: p.nodes[h.depth].Name, Inputs: []infer.ValueID{wide}, Outputs: out,
			Begin: []int{0, 0, 0, first}, End: []int{shape[0], shape[1], shape[2], end}, Steps: []int{1, 1, 1, 1},
		}})
		first = end
	}
	return nodes, true
}

func (p *program) newConstant(data []float32, shape ...int) infer.ValueID {
	id := infer.ValueID(len(p.values))
	p.values = append(p.values, infer.Value{Shape: shape, Data: data})
	p.alias = append(p.alias, id)
	return id
}
