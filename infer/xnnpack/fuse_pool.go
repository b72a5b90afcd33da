//go:build xnnpack

package xnnpack

// #include "native.h"
import "C"

import "facetrack/infer"

// fusePools joins a depthwise node with the 2×2 MaxPool2D that alone reads it, and makes maxPool2x2 of the others.
func (p *program) fusePools() {
	l, dead := p.links(), map[int]bool{}
	for i := range p.nodes {
		n := &p.nodes[i]
		if n.Op != infer.MaxPool2D || !p.isHalving(n) {
			continue
		}
		n.Op = maxPool2x2
		if before := l.chained(p, n); before >= 0 {
			fused := p.nodes[before]
			fused.Op, fused.Outputs = depthwisePool, n.Outputs
			*n, dead[before] = fused, true
		}
	}
	p.drop(dead)
}

// isHalving says that a pooling node is 2×2 at stride 2, of enough channels for our kernel and not too many for a tile.
func (p *program) isHalving(n *node) bool {
	two := [2]int{2, 2}
	channels := p.channels(n.Outputs[0])
	return n.Kernel == two && n.Stride == two && orOnes(n.Dilation) == [2]int{1, 1} && n.Pads == [4]int{} &&
		n.Activation == infer.NoActivation && p.shape(n.Inputs[0])[0] == 1 &&
		channels >= C.FT_MIN_CHANNELS && channels <= C.FT_SCRATCH/4
}
