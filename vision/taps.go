package vision

import "math"

// taps are the box filter of one axis of a downscale: output i averages count source pixels from first[i],
// each by its covered share. Weights are integers that add up to the total given to newTaps.
type taps struct {
	count   int
	first   []int
	weights []uint64 // count a output
}

// newTaps divides src pixels into n boxes of scale ≥ 0.5 pixels; the last box may reach past the end and
// then averages what it covers.
func newTaps(src, n int, scale float64, total uint64) taps {
	spans := make([][]uint64, n)
	t := taps{count: 1, first: make([]int, n)}
	for i := range spans {
		t.first[i], spans[i] = boxWeights(float64(i)*scale, float64(i+1)*scale, src, total)
		t.count = max(t.count, len(spans[i]))
	}
	t.weights = make([]uint64, n*t.count)
	for i, span := range spans {
		shift := max(0, t.first[i]+t.count-src) // keeps all taps inside: leading ones get weight zero
		t.first[i] -= shift
		copy(t.weights[i*t.count+shift:(i+1)*t.count], span)
	}
	return t
}

func (t *taps) of(i int) []uint64 { return t.weights[i*t.count : (i+1)*t.count] }

// paired joins the weights of two neighbours each, as tapWeights; an odd last one is joined with zero.
func (t *taps) paired() taps {
	p := taps{count: (t.count + 1) / 2, first: t.first}
	for i := range t.first {
		w := append(t.of(i)[:t.count:t.count], 0)
		for k := range p.count {
			p.weights = append(p.weights, tapWeights(w[2*k], w[2*k+1]))
		}
	}
	return p
}

// boxWeights rounds the running sum of the covered shares, so that the weights add up to total exactly, and
// leaves out pixels whose share rounds to nothing.
func boxWeights(from, to float64, src int, total uint64) (first int, weights []uint64) {
	to = math.Min(to, float64(src))
	from = math.Min(from, to-1e-9)
	given := uint64(0)
	for j := int(from); j < src && given < total; j++ {
		covered := math.Min(float64(j+1), to) - from
		sum := uint64(math.Round(float64(total) * covered / (to - from)))
		if sum == given && len(weights) == 0 {
			continue
		}
		if len(weights) == 0 {
			first = j
		}
		weights = append(weights, sum-given)
		given = sum
	}
	return first, weights
}
