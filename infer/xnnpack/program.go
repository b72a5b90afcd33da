//go:build xnnpack

package xnnpack

import (
	"slices"

	"facetrack/infer"
)

// Operators of our own kernels, made by the passes below out of several nodes each.
const (
	// addPRelu is x + y, then PReLU. y may have fewer channels than x. Inputs: x, y.
	addPRelu infer.Op = "AddPRelu"
	// depthwise is a 3×3 depthwise convolution, then PReLU. Inputs: x.
	depthwise infer.Op = "Depthwise"
	// maxPool2x2 is a 2×2 maximum at stride 2; depthwisePool does it behind a depthwise convolution. Inputs: x.
	maxPool2x2    infer.Op = "MaxPool2x2"
	depthwisePool infer.Op = "DepthwisePool"
	// layerNorm makes the mean of the last axis 0 and its variance 1, times a factor for each channel. Inputs: x.
	layerNorm infer.Op = "LayerNorm"
	// pointwise is a dense convolution of x, or of the depthwise convolution of x, plus a residual that may have
	// fewer channels, then PReLU. Inputs: x, optional residual.
	pointwise infer.Op = "Pointwise"
)

// node is an operator and, for the operators above, its constants.
type node struct {
	infer.Node
	depth   *taps     // of depthwise, of depthwisePool, and of pointwise with a depthwise convolution before it
	point   *taps     // of pointwise
	slope   []float32 // of addPRelu; the factors of layerNorm
	epsilon float32   // of layerNorm
}

// taps are the constants of a convolution and the PReLU behind it; slope 0 is ReLU, slope 1 no activation.
type taps struct{ filter, bias, slope []float32 }

// program is a graph on its way to steps: what the passes below rewrite.
type program struct {
	values []infer.Value
	nodes  []node
	in     []infer.ValueID
	out    []infer.ValueID
	alias  []infer.ValueID // the value whose memory a value shares; itself for most
}

// lower copies the graph's structure (not its constants) and rewrites it into what the steps can do.
func lower(g *infer.Graph) *program {
	p := &program{values: slices.Clone(g.Values), in: g.Inputs, out: g.Outputs, alias: make([]infer.ValueID, len(g.Values))}
	for i := range p.alias {
		p.alias[i] = infer.ValueID(i)
	}
	for _, n := range g.Nodes {
		p.nodes = append(p.nodes, node{Node: n})
	}
	p.splitPRelu()
	p.foldSpatialPads()
	p.splitReductions()
	p.mergeHeads()
	p.fuseAdds()
	p.fuseNorms()
	p.fuseDepthwise()
	p.fusePools()
	p.fusePointwise()
	p.fuseResizeAdd()
	p.aliasReshapes()
	return p
}

func (p *program) newValue(like infer.ValueID, shape []int) infer.ValueID {
	id := infer.ValueID(len(p.values))
	p.values = append(p.values, infer.Value{Name: p.values[like].Name, Shape: shape})
	p.alias = append(p.alias, id)
	return id
}

func (p *program) shape(id infer.ValueID) []int { return p.values[id].Shape }

// channels is the extent of the last axis, 1 when there is no axis.
func (p *program) channels(id infer.ValueID) int {
	shape := p.shape(id)
	if len(shape) == 0 {
		return 1
	}
	return shape[len(shape)-1]
}

func (p *program) data(id infer.ValueID) []float32 { return p.values[id].Data }

func (p *program) isConstant(id infer.ValueID) bool { return p.values[id].Data != nil }

// links tells who writes and who reads the values of a program, as it was when links was made.
type links struct {
	writer []int // index of the node that writes a value, -1 for inputs and constants
	reader []int // index of a node that reads it, -1 for none
	uses   []int // number of readers; being an output of the graph is one
}

func (p *program) links() links {
	n := len(p.values)
	l := links{slices.Repeat([]int{-1}, n), slices.Repeat([]int{-1}, n), make([]int, n)}
	for i := range p.nodes {
		for _, id := range p.nodes[i].Inputs {
			l.reader[id] = i
			l.uses[id]++
		}
		for _, id := range p.nodes[i].Outputs {
			l.writer[id] = i
		}
	}
	for _, id := range p.out {
		l.uses[id]++
	}
	return l
}

// next is the node that alone reads a value, -1 when there is not exactly one reader.
func (l links) next(id infer.ValueID) int {
	if l.uses[id] != 1 {
		return -1
	}
	return l.reader[id]
}

// drop removes the marked nodes.
func (p *program) drop(dead map[int]bool) {
	kept := make([]node, 0, len(p.nodes))
	for i := range p.nodes {
		if !dead[i] {
			kept = append(kept, p.nodes[i])
		}
	}
	p.nodes = kept
}
