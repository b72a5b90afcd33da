package kernel

import (
	"math"
	"slices"
	"testing"
)

func TestIndices(t *testing.T) {
	matrix := Dense([]int{2, 3})
	for name, c := range map[string]struct {
		view View
		want []int32
	}{
		"dense":     {matrix, []int32{0, 1, 2, 3, 4, 5}},
		"transpose": {matrix.Transpose([]int{1, 0}), []int32{0, 3, 1, 4, 2, 5}},
		"window":    {matrix.Window([]int{1, 0}, []int{1, 2}, []int{1, 2}), []int32{3, 5}},
		"fold":      {matrix.Fold([]int{1}), []int32{0, 0, 0, 3, 3, 3}},
		"broadcast": {Broadcast([]int{3}, []int{2, 3}), []int32{0, 1, 2, 0, 1, 2}},
		"column":    {Broadcast([]int{2, 1}, []int{2, 3}), []int32{0, 0, 0, 1, 1, 1}},
		"scalar":    {Dense(nil), []int32{0}},
	} {
		if got := c.view.Indices(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v; want %v", name, got, c.want)
		}
	}
}

// Not-a-number goes through the cuts, so that a broken network is seen.
func TestCutsKeepNaN(t *testing.T) {
	nan := float32(math.NaN())
	for name, v := range map[string]float32{"relu": Relu(nan), "relu6": Relu6(nan), "prelu": PRelu(nan, 0.5)} {
		if v == v {
			t.Errorf("%s of NaN is %g", name, v)
		}
	}
}
