package synchrony

import "math"

// segment is one side's samples around a window, less the first of them, with running totals: about the
// same level must not cost digits.
type segment struct {
	values        []float64 // 0 where missing
	sums, squares []float64 // over the first i values
	counts        []int     // of those there among the first i
	missing       []int     // places, ascending
}

func newSegment(n int) segment {
	return segment{
		values: make([]float64, n), sums: make([]float64, n+1), squares: make([]float64, n+1),
		counts: make([]int, n+1), missing: make([]int, 0, n),
	}
}

func (s *segment) load(x []float64) {
	s.missing = s.missing[:0]
	n := len(x)
	values, sums, squares, counts := s.values[:n], s.sums[1:n+1], s.squares[1:n+1], s.counts[1:n+1]
	t, origin := total{}, first(x)
	for i, v := range x {
		if v -= origin; math.IsNaN(v) {
			v = 0
			s.missing = append(s.missing, i)
		} else {
			t.count++
		}
		t.sum += v
		t.squares += v * v
		values[i], sums[i], squares[i], counts[i] = v, t.sum, t.squares, t.count
	}
}

// first is the first number.
func first(x []float64) float64 {
	for _, v := range x {
		if !math.IsNaN(v) {
			return v
		}
	}
	return 0
}

// gaps are the places of the missing among n samples from i.
func (s *segment) gaps(i, n int) []int { return s.missing[i-s.counts[i] : i+n-s.counts[i+n]] }

// total sums up some samples of a segment.
type total struct {
	count        int
	sum, squares float64
}

func (s *segment) total(i, n int) total {
	return total{s.counts[i+n] - s.counts[i], s.sums[i+n] - s.sums[i], s.squares[i+n] - s.squares[i]}
}

// remove takes sample i of s out, if it is there.
func (t *total) remove(s *segment, i int) {
	t.count -= s.counts[i+1] - s.counts[i]
	t.sum -= s.values[i]
	t.squares -= s.values[i] * s.values[i]
}
