//go:build xnnpack

package xnnpack

import (
	"slices"

	"facetrack/infer"
	"facetrack/infer/internal/arena"
)

// lineFloats is the granularity of the arena: one cache line.
const lineFloats = 16

// span is the life of a value in memory, in floats: from the node that writes it to the last one that reads it.
type span struct {
	arena.Span
	id infer.ValueID
}

// spans lists the values that need memory. The graph's inputs and outputs live for ever.
func (p *program) spans() []*span {
	at := map[infer.ValueID]int{} // value to index in list
	var list []*span
	touch := func(id infer.ValueID, first, last int) {
		root := p.alias[id]
		if p.isConstant(root) {
			return
		}
		k, ok := at[root]
		if !ok {
			k = len(list)
			at[root] = k
			size := (volume(p.shape(root)) + lineFloats - 1) / lineFloats * lineFloats
			list = append(list, &span{arena.Span{First: first, Last: last, Size: size}, root})
		}
		list[k].First, list[k].Last = min(list[k].First, first), max(list[k].Last, last)
	}
	for _, id := range slices.Concat(p.in, p.out) {
		touch(id, 0, len(p.nodes))
	}
	for i := range p.nodes {
		for _, id := range slices.Concat(p.nodes[i].Outputs, p.nodes[i].Inputs) {
			touch(id, i, i)
		}
	}
	return list
}

// place gives every span its offset and returns the arena's size in floats.
func place(spans []*span) int {
	list := make([]*arena.Span, len(spans))
	for i, s := range spans {
		list[i] = &s.Span
	}
	return arena.Place(list)
}
