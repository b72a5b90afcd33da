package infer

import "slices"

// Optimize rewrites a valid graph in place to an equal one with less work: it computes what is constant, removes
// transposes and reshapes that move nothing, folds zero pads into convolutions, fuses activations into the operator
// before them, and drops what no output needs. Inputs and outputs keep their names, order and shapes; other
// value ids change. Optimising twice changes nothing more.
func Optimize(g *Graph) error {
	if err := g.Validate(); err != nil {
		return err
	}
	o := &optimizer{g: g, foldBudget: foldAllowance(g), isOutput: make([]bool, len(g.Values))}
	for _, id := range g.Outputs {
		o.isOutput[id] = true
	}
	o.simplify()
	o.fusePads()
	o.prune()
	o.absorb()
	o.compact()
	return g.Validate()
}

type optimizer struct {
	g          *Graph
	producer   []*Node // by value; nil for inputs and constants
	isOutput   []bool  // by value
	foldBudget int     // elements that folding may still create
}

// keep rebuilds the node list with those for which visit says true; visit sees every producer before its users.
func (o *optimizer) keep(visit func(*Node) bool) {
	o.producer = make([]*Node, len(o.g.Values))
	kept := make([]Node, 0, len(o.g.Nodes))
	for i := range o.g.Nodes {
		if n := &o.g.Nodes[i]; visit(n) {
			kept = append(kept, *n)
			o.producer[n.Outputs[0]] = &kept[len(kept)-1]
		}
	}
	o.g.Nodes = kept
}

// simplify folds constants and removes nodes that only pass their input on.
func (o *optimizer) simplify() {
	alias := make([]ValueID, len(o.g.Values))
	for i := range alias {
		alias[i] = ValueID(i)
	}
	o.keep(func(n *Node) bool {
		for k, id := range n.Inputs {
			n.Inputs[k] = alias[id]
		}
		if o.fold(n) {
			return false
		}
		o.toReshape(n)
		if o.identity(n) && !o.isOutput[n.Outputs[0]] {
			alias[n.Outputs[0]] = n.Inputs[0]
			return false
		}
		return true
	})
}

// toReshape turns a transpose that only moves axes of length 1 into a reshape, and lets a reshape of a reshape
// start from the first one's input.
func (o *optimizer) toReshape(n *Node) {
	if n.Op == Transpose && keepsOrder(n.Perm, o.g.Values[n.Inputs[0]].Shape) {
		n.Op, n.Perm = Reshape, nil
	}
	if n.Op != Reshape {
		return
	}
	if p := o.producer[n.Inputs[0]]; p != nil && p.Op == Reshape {
		n.Inputs[0] = p.Inputs[0]
	}
}

func keepsOrder(perm, shape []int) bool {
	last := -1
	for _, p := range perm {
		if shape[p] == 1 {
			continue
		}
		if p < last {
			return false
		}
		last = p
	}
	return true
}

// identity says that a node's output is its input: a layout operator that keeps the shape.
// (A slice with positive steps that keeps the shape takes everything.)
func (o *optimizer) identity(n *Node) bool {
	switch n.Op {
	case Reshape, StridedSlice, Pad, ResizeNearest:
		return slices.Equal(o.g.Values[n.Inputs[0]].Shape, o.g.Values[n.Outputs[0]].Shape)
	}
	return false
}
