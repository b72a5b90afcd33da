// Package arena places buffers with limited lives in one block of memory.
package arena

import "slices"

// Span is the life of a buffer: from the step that writes it to the last one that reads it, both included.
type Span struct {
	First, Last  int
	Size, Offset int
}

// Place gives every span an offset so that spans alive at the same time do not overlap, largest first, each at the lowest
// offset that fits. It returns the size of the block. Offsets are multiples of what all sizes are multiples of.
func Place(spans []*Span) int {
	order := slices.Clone(spans)
	slices.SortStableFunc(order, func(a, b *Span) int { return b.Size - a.Size })
	total := 0
	for i, s := range order {
		var busy []*Span
		for _, o := range order[:i] {
			if o.First <= s.Last && s.First <= o.Last {
				busy = append(busy, o)
			}
		}
		slices.SortFunc(busy, func(a, b *Span) int { return a.Offset - b.Offset })
		s.Offset = 0
		for _, o := range busy {
			if s.Offset+s.Size <= o.Offset {
				break
			}
			s.Offset = max(s.Offset, o.Offset+o.Size)
		}
		total = max(total, s.Offset+s.Size)
	}
	return total
}
