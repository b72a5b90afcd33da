package gpu

import (
	"math"

	"facetrack/infer/internal/arena"
)

// alignment of buffers, bytes: what the driver's own allocations have.
const alignment = 256

func aligned(bytes int) int { return (bytes + alignment - 1) / alignment * alignment }

// layOut gives every buffer of values its offset in a block for some items, and returns the size of the block. Constants
// have offset 0.
func (p *plan) layOut(items int) (offsets []int, total int) {
	spans := make([]*arena.Span, 0, len(p.buffers))
	which := make([]int, 0, len(p.buffers))
	for i, b := range p.buffers {
		if b.constant == nil {
			spans = append(spans, &arena.Span{First: b.first, Last: b.last, Size: aligned(items * b.len * b.precision.Bytes())})
			which = append(which, i)
		}
	}
	total = arena.Place(spans)
	offsets = make([]int, len(p.buffers))
	for k, i := range which {
		offsets[i] = spans[k].Offset
	}
	return offsets, total
}

// mostItems is the largest batch: kernels count the elements of a buffer in 32 bits, and some the items in 16.
func (p *plan) mostItems() int {
	longest := 1
	for _, b := range p.buffers {
		longest = max(longest, b.len)
	}
	return min(math.MaxInt32/longest, math.MaxUint16)
}
