//go:build xnnpack

package xnnpack

import (
	"slices"

	"facetrack/infer"
)

// lineFloats is the granularity of the arena: one cache line.
const lineFloats = 16

// span is the life of a value in memory: from the node that writes it to the last one that reads it.
type span struct {
	id          infer.ValueID
	first, last int
	size        int // floats
	offset      int // floats
}

// spans lists the values that need memory. The graph's inputs and outputs live for ever.
func (p *program) spans() []span {
	at := map[infer.ValueID]int{} // value to index in list
	var list []span
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
			list = append(list, span{id: root, first: first, last: last, size: size})
		}
		list[k].first, list[k].last = min(list[k].first, first), max(list[k].last, last)
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

// place gives every span an offset so that spans alive at the same time do not overlap, largest first, each at the
// lowest offset that fits. It returns the arena's size in floats.
func place(spans []span) int {
	slices.SortStableFunc(spans, func(a, b span) int { return b.size - a.size })
	total := 0
	for i := range spans {
		s := &spans[i]
		var busy []span
		for _, o := range spans[:i] {
			if o.first <= s.last && s.first <= o.last {
				busy = append(busy, o)
			}
		}
		slices.SortFunc(busy, func(a, b span) int { return a.offset - b.offset })
		for _, o := range busy {
			if s.offset+s.size <= o.offset {
				break
			}
			s.offset = max(s.offset, o.offset+o.size)
		}
		total = max(total, s.offset+s.size)
	}
	return total
}
