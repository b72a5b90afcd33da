//go:build xnnpack

package xnnpack

import (
	"slices"

	"facetrack/infer"
)

// splitPRelu undoes the PReLU that is fused behind an operator: XNNPACK clamps behind an operator, no more.
func (p *program) splitPRelu() {
	nodes := make([]node, 0, len(p.nodes))
	for _, n := range p.nodes {
		if n.Activation != infer.PReluActivation {
			nodes = append(nodes, n)
			continue
		}
		last := len(n.Inputs) - 1
		slope, out := n.Inputs[last], n.Outputs[0]
		mid := p.newValue(out, p.shape(out))
		n.Inputs, n.Outputs, n.Activation = slices.Clone(n.Inputs[:last]), []infer.ValueID{mid}, infer.NoActivation
		prelu := infer.Node{Op: infer.PRelu, Name: n.Name, Inputs: []infer.ValueID{mid, slope}, Outputs: []infer.ValueID{out}}
		nodes = append(nodes, n, node{Node: prelu})
	}
	p.nodes = nodes
}

// foldSpatialPads moves a Pad of height and width into the only convolution that reads it.
func (p *program) foldSpatialPads() {
	l, dead := p.links(), map[int]bool{}
	for i := range p.nodes {
		pad := &p.nodes[i]
		if pad.Op != infer.Pad || !isSpatial(pad) {
			continue
		}
		at := l.next(pad.Outputs[0])
		if at < 0 || p.nodes[at].Op != infer.Conv2D {
			continue
		}
		n := &p.nodes[at]
		n.Pads = [4]int{n.Pads[0] + pad.Before[1], n.Pads[1] + pad.Before[2], n.Pads[2] + pad.After[1], n.Pads[3] + pad.After[2]}
		n.Inputs = slices.Clone(n.Inputs)
		n.Inputs[0] = pad.Inputs[0]
		dead[i] = true
	}
	p.drop(dead)
}

func isSpatial(pad *node) bool {
	return len(pad.Before) == 4 && pad.Before[0]+pad.After[0]+pad.Before[3]+pad.After[3] == 0
}

// isChannelTail says that a Pad only appends channels.
func isChannelTail(pad *node) bool {
	last := len(pad.Before) - 1
	for i := range pad.Before {
		if pad.Before[i] != 0 || (i != last && pad.After[i] != 0) {
			return false
		}
	}
	return true
}

// splitReductions turns a reduction over axes that are not adjacent into one for each run of axes.
func (p *program) splitReductions() {
	nodes := make([]node, 0, len(p.nodes))
	for _, n := range p.nodes {
		if n.Op != infer.Mean && n.Op != infer.Sum {
			nodes = append(nodes, n)
			continue
		}
		in, runs := n.Inputs[0], axisRuns(p.shape(n.Inputs[0]), n.Axes)
		for i, run := range runs {
			r := n
			r.Axes, r.Inputs, r.Outputs = run, []infer.ValueID{in}, n.Outputs
			if i+1 < len(runs) {
				r.Outputs = []infer.ValueID{p.newValue(in, reducedShape(p.shape(in), run))}
			}
			nodes, in = append(nodes, r), r.Outputs[0]
		}
	}
	p.nodes = nodes
}

// axisRuns splits axes into runs of neighbours; axes of extent 1 between two axes do not separate them.
func axisRuns(shape, axes []int) [][]int {
	var runs [][]int
	for _, a := range slices.Sorted(slices.Values(axes)) {
		last := len(runs) - 1
		if last >= 0 && volume(shape[runs[last][len(runs[last])-1]+1:a]) == 1 {
			runs[last] = append(runs[last], a)
		} else {
			runs = append(runs, []int{a})
		}
	}
	if runs == nil {
		runs = [][]int{nil}
	}
	return runs
}

func reducedShape(shape, axes []int) []int {
	out := slices.Clone(shape)
	for _, a := range axes {
		out[a] = 1
	}
	return out
}

// aliasReshapes removes nodes that keep every element where it is: their output is another view of their input.
func (p *program) aliasReshapes() {
	dead := map[int]bool{}
	for i := range p.nodes {
		n := &p.nodes[i]
		if n.Op == infer.Reshape || (n.Op == infer.Transpose && keepsOrder(p.shape(n.Inputs[0]), n.Perm)) {
			p.alias[n.Outputs[0]] = p.alias[n.Inputs[0]]
			p.values[n.Outputs[0]].Data = p.data(n.Inputs[0])
			dead[i] = true
		}
	}
	p.drop(dead)
}

// keepsOrder says that a permutation only moves axes of extent 1.
func keepsOrder(shape, perm []int) bool {
	last := -1
	for _, a := range perm {
		if shape[a] == 1 {
			continue
		}
		if a < last {
			return false
		}
		last = a
	}
	return true
}

func volume(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}
