package arena

import (
	"math/rand/v2"
	"testing"
)

func TestPlaceKeepsLivingSpansApart(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		spans := make([]*Span, 1+r.IntN(30))
		sum := 0
		for i := range spans {
			first := r.IntN(20)
			spans[i] = &Span{First: first, Last: first + r.IntN(6), Size: 16 * (1 + r.IntN(40))}
			sum += spans[i].Size
		}
		total := Place(spans)
		if total > sum {
			t.Fatalf("%d of %d: more than one after the other", total, sum)
		}
		for i, a := range spans {
			if a.Offset < 0 || a.Offset%16 != 0 || a.Offset+a.Size > total {
				t.Fatalf("span %+v in a block of %d", *a, total)
			}
			for _, b := range spans[:i] {
				if a.First <= b.Last && b.First <= a.Last && a.Offset < b.Offset+b.Size && b.Offset < a.Offset+a.Size {
					t.Fatalf("%+v and %+v overlap", *a, *b)
				}
			}
		}
	}
}

// A chain needs room for two neighbours, however long it is.
func TestPlaceUsesMemoryAgain(t *testing.T) {
	var spans []*Span
	for i := range 10 {
		spans = append(spans, &Span{First: i, Last: i + 1, Size: 256})
	}
	if total := Place(spans); total != 512 {
		t.Errorf("a chain takes %d bytes, want 512", total)
	}
}

func TestPlaceOfDifferentSizes(t *testing.T) {
	spans := []*Span{{First: 0, Last: 1, Size: 64}, {First: 1, Last: 2, Size: 32}, {First: 2, Last: 3, Size: 64}, {First: 3, Last: 4, Size: 32}}
	if total := Place(spans); total != 96 {
		t.Errorf("the block has %d, want 96", total)
	}
}
