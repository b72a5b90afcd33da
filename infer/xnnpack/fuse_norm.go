//go:build xnnpack

package xnnpack

// #include "native.h"
import "C"

import "facetrack/infer"

// fuseNorms finds layer normalisation over the last axis written out in ten nodes,
//
//	m = mean(x)   s = γ / sqrt(mean((x - m)²) + ε)   x·s + (-m)·s
//
// and makes it one layerNorm node.
func (p *program) fuseNorms() {
	w := walker{p: p, l: p.links()}
	dead := map[int]bool{}
	for i := range p.nodes {
		w.nodes = w.nodes[:0]
		norm, ok := w.matchNorm(&p.nodes[i])
		if !ok {
			continue
		}
		for _, at := range w.nodes {
			dead[at] = true
		}
		norm.Name, norm.Outputs = p.nodes[i].Name, p.nodes[i].Outputs
		p.nodes[i] = norm
	}
	p.drop(dead)
}

// matchNorm walks up from the addition that would be the last node.
func (w *walker) matchNorm(add *node) (norm node, ok bool) {
	if add.Op != addPRelu || !allOnes(add.slope) {
		return norm, false
	}
	scaled, shift := w.up(infer.Mul, add.Inputs[0], 1), w.up(infer.Mul, add.Inputs[1], 1)
	if scaled == nil || shift == nil || scaled.Inputs[1] != shift.Inputs[1] {
		return norm, false
	}
	x := scaled.Inputs[0]
	mean := w.up(infer.Mean, operand(w.up(infer.Neg, shift.Inputs[0], 1)), 2)
	scale := w.up(infer.Mul, scaled.Inputs[1], 2)
	if mean == nil || scale == nil {
		return norm, false
	}
	variance := w.up(infer.Add, operand(w.up(infer.Rsqrt, scale.Inputs[0], 1)), 1)
	if variance == nil {
		return norm, false
	}
	average := w.up(infer.Mean, variance.Inputs[0], 1)
	square := w.up(infer.SquaredDifference, operand(average), 1)
	if square == nil || mean.Inputs[0] != x || square.Inputs[0] != x || square.Inputs[1] != mean.Outputs[0] {
		return norm, false
	}
	gamma, epsilon, channels := w.p.data(scale.Inputs[1]), w.p.data(variance.Inputs[1]), w.p.channels(x)
	if len(gamma) != channels || channels%C.FT_MIN_CHANNELS != 0 || len(epsilon) != 1 || !w.overLast(mean, x) || !w.overLast(average, x) {
		return norm, false
	}
	return node{Node: infer.Node{Op: layerNorm, Inputs: []infer.ValueID{x}}, slope: gamma, epsilon: epsilon[0]}, true
}

// walker collects the nodes of a pattern.
type walker struct {
	p     *program
	l     links
	nodes []int
}

// up is the node that writes a value, nil when it is another operator or has another number of readers.
func (w *walker) up(op infer.Op, id infer.ValueID, readers int) *node {
	if id < 0 || w.l.writer[id] < 0 || w.l.uses[id] != readers {
		return nil
	}
	n := &w.p.nodes[w.l.writer[id]]
	if n.Op != op || n.Activation != infer.NoActivation {
		return nil
	}
	w.nodes = append(w.nodes, w.l.writer[id])
	return n
}

// overLast says that a reduction of x keeps all axes and is over the last one.
func (w *walker) overLast(n *node, x infer.ValueID) bool {
	last := len(w.p.shape(x)) - 1
	return n.KeepDims && len(n.Axes) == 1 && n.Axes[0] == last
}

// operand is a node's first input, -1 when there is no node.
func operand(n *node) infer.ValueID {
	if n == nil {
		return -1
	}
	return n.Inputs[0]
}

func allOnes(slope []float32) bool {
	for _, s := range slope {
		if s != 1 {
			return false
		}
	}
	return true
}
