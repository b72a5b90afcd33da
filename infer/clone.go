package infer

import "slices"

// Clone copies the graph. The constants' data is shared: a graph's data is never written after it is loaded.
func (g *Graph) Clone() *Graph {
	c := *g
	c.Values = slices.Clone(g.Values)
	for i := range c.Values {
		c.Values[i].Shape = slices.Clone(c.Values[i].Shape)
	}
	c.Nodes = slices.Clone(g.Nodes)
	for i := range c.Nodes {
		n := &c.Nodes[i]
		for _, s := range []*[]ValueID{&n.Inputs, &n.Outputs} {
			*s = slices.Clone(*s)
		}
		for _, s := range []*[]int{&n.Axes, &n.Perm, &n.Before, &n.After, &n.Begin, &n.End, &n.Steps} {
			*s = slices.Clone(*s)
		}
	}
	c.Inputs = slices.Clone(g.Inputs)
	c.Outputs = slices.Clone(g.Outputs)
	return &c
}
