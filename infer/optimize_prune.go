package infer

// prune drops nodes that no output needs.
func (o *optimizer) prune() {
	needed := make([]bool, len(o.g.Values))
	for _, id := range o.g.Outputs {
		needed[id] = true
	}
	live := make([]bool, len(o.g.Nodes))
	for i := len(o.g.Nodes) - 1; i >= 0; i-- {
		n := &o.g.Nodes[i]
		if live[i] = needed[n.Outputs[0]]; !live[i] {
			continue
		}
		for _, id := range n.Inputs {
			needed[id] = true
		}
	}
	next := -1
	o.keep(func(*Node) bool { next++; return live[next] })
}

// compact renumbers values without those that nothing refers to.
func (o *optimizer) compact() {
	g := o.g
	renamed := make([]ValueID, len(g.Values))
	var values []Value
	visit := func(ids []ValueID) {
		for k, id := range ids {
			if renamed[id] == 0 {
				values = append(values, g.Values[id])
				renamed[id] = ValueID(len(values))
			}
			ids[k] = renamed[id] - 1
		}
	}
	visit(g.Inputs)
	for i := range g.Nodes {
		visit(g.Nodes[i].Inputs)
		visit(g.Nodes[i].Outputs)
	}
	visit(g.Outputs)
	g.Values = values
}
