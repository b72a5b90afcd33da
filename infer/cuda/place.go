package gpu

import "facetrack/infer"

// place is where a value lies: in the memory of its root, which may be itself, from an element on. Items of a batch are as far apart as
// the root is long.
type place struct {
	root   infer.ValueID
	offset int
}

// places lets Reshape and Concat cost nothing: a reshaped value is its operand under another shape, and what only a Concat reads is
// computed where the Concat wants it.
func (p *program) places() []place {
	at := make([]place, len(p.values))
	for i := range at {
		at[i].root = infer.ValueID(i)
	}
	for i := range p.ops {
		if o := &p.ops[i]; p.isRenaming(o, at) {
			at[o.out()] = at[o.Inputs[0]]
		}
	}
	roots := p.placeParts(at)
	for i := range at {
		at[i] = follow(roots, at[i])
	}
	return at
}

// isRenaming says that an operator's result may be its operand. Inputs and constants are no place for a result of the network.
func (p *program) isRenaming(o *op, at []place) bool {
	if o.Op != infer.Reshape {
		return false
	}
	root := at[o.Inputs[0]].root
	return !p.isConstant(root) && (!contains(p.in, root) || !contains(p.out, o.out()))
}

// placeParts says of values that only one Concat reads, under whatever shape, where in its result they begin.
func (p *program) placeParts(at []place) map[infer.ValueID]place {
	uses := p.usesOfRoots(at)
	roots := map[infer.ValueID]place{}
	for i := range p.ops {
		o := &p.ops[i]
		if o.Op != infer.Concat || !p.isRun(o) {
			continue
		}
		offset := 0
		for _, id := range o.Inputs {
			root := at[id].root
			if uses[root] == 1 && !p.isConstant(root) && !contains(p.in, root) {
				roots[root] = place{at[o.out()].root, offset}
			}
			offset += p.len(id)
		}
	}
	return roots
}

// isRun says that the parts of a Concat lie one behind the other.
func (p *program) isRun(o *op) bool {
	for _, d := range p.shape(o.out())[:o.Axis] {
		if d != 1 {
			return false
		}
	}
	return true
}

// usesOfRoots counts who reads the memory of a root; renaming it is no use, being an output of the network is two.
func (p *program) usesOfRoots(at []place) []int {
	uses := make([]int, len(p.values))
	for i := range p.ops {
		o := &p.ops[i]
		for _, id := range o.Inputs {
			if o.Op != infer.Reshape || at[o.out()].root != at[id].root {
				uses[at[id].root]++
			}
		}
	}
	for _, id := range p.out {
		uses[at[id].root] += 2
	}
	return uses
}

// follow goes from part to whole.
func follow(roots map[infer.ValueID]place, at place) place {
	for {
		whole, placed := roots[at.root]
		if !placed {
			return at
		}
		at = place{whole.root, whole.offset + at.offset}
	}
}

func contains(list []infer.ValueID, id infer.ValueID) bool {
	for _, v := range list {
		if v == id {
			return true
		}
	}
	return false
}
