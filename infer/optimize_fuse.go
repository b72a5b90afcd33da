package infer

import "slices"

// fusePads lets a convolution behind a zero pad of height and width read the unpadded image.
func (o *optimizer) fusePads() {
	o.keep(func(n *Node) bool {
		if n.Op != Conv2D {
			return true
		}
		p := o.producer[n.Inputs[0]]
		if p == nil || p.Op != Pad || p.Before[0]+p.After[0]+p.Before[3]+p.After[3] != 0 {
			return true
		}
		pads := n.Pads
		for a := range 2 {
			pads[a] += p.Before[a+1]
			pads[a+2] += p.After[a+1]
		}
		if slices.Max(pads[:]) <= maxAttr {
			n.Pads, n.Inputs[0] = pads, p.Inputs[0]
		}
		return true
	})
}

// absorb moves an activation, or a reshape to the same shape, into the node before it, when nobody else reads
// what is between the two.
func (o *optimizer) absorb() {
	uses := make([]int, len(o.g.Values))
	for i := range o.g.Nodes {
		for _, id := range o.g.Nodes[i].Inputs {
			uses[id]++
		}
	}
	o.keep(func(n *Node) bool {
		x := n.Inputs[0]
		p := o.producer[x]
		if p == nil || uses[x] != 1 || o.isOutput[x] {
			return true
		}
		if !o.identity(n) && !fuse(p, n) {
			return true
		}
		p.Outputs = n.Outputs
		o.producer[n.Outputs[0]] = p
		return false
	})
}

// fuse sets the activation n behind p, if p can have it.
func fuse(p, n *Node) bool {
	if p.Activation != NoActivation {
		return false
	}
	switch {
	case n.Op == Relu && fusible(p.Op, ReluActivation):
		p.Activation = ReluActivation
	case n.Op == PRelu && fusible(p.Op, PReluActivation):
		p.Activation = PReluActivation
		p.Inputs = append(p.Inputs, n.Inputs[1])
	default:
		return false
	}
	return true
}
