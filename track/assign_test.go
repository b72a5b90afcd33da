package track

import (
	"math"
	"math/rand/v2"
	"testing"
)

// cheapest tries every assignment.
func cheapest(cost [][]float64, unmatched []float64, row int, used []bool) float64 {
	if row == len(cost) {
		return 0
	}
	best := unmatched[row] + cheapest(cost, unmatched, row+1, used)
	for j, c := range cost[row] {
		if !used[j] && !math.IsInf(c, 1) {
			used[j] = true
			best = math.Min(best, c+cheapest(cost, unmatched, row+1, used))
			used[j] = false
		}
	}
	return best
}

func TestAssignIsOptimal(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for trial := range 3000 {
		rows, columns := 1+rng.IntN(5), rng.IntN(6)
		cost, unmatched := make([][]float64, rows), make([]float64, rows)
		for i := range cost {
			unmatched[i] = 10 * rng.Float64()
			cost[i] = make([]float64, columns)
			for j := range cost[i] {
				if cost[i][j] = math.Floor(12*rng.Float64()) - 1; rng.IntN(4) == 0 {
					cost[i][j] = math.Inf(1)
				}
			}
		}
		got, taken := 0.0, map[int]bool{}
		for i, j := range assign(cost, unmatched) {
			if j < 0 {
				got += unmatched[i]
				continue
			}
			if taken[j] {
				t.Fatalf("trial %d: column %d is given twice", trial, j)
			}
			taken[j] = true
			got += cost[i][j]
		}
		if want := cheapest(cost, unmatched, 0, make([]bool, columns)); !(math.Abs(got-want) < 1e-9) {
			t.Fatalf("trial %d: costs %g, the best is %g: %v, unmatched %v", trial, got, want, cost, unmatched)
		}
	}
}

func TestAssignByHand(t *testing.T) {
	// Greedy would take (0,0) for 1 and be left with 100; the best is 2 + 2.
	got := assign([][]float64{{1, 2}, {2, 100}}, []float64{50, 50})
	if got[0] != 1 || got[1] != 0 {
		t.Errorf("got %v, want [1 0]", got)
	}
	if got := assign(nil, nil); len(got) != 0 {
		t.Errorf("no rows: got %v", got)
	}
	if got := assign([][]float64{{}, {}}, []float64{1, 1}); got[0] != -1 || got[1] != -1 {
		t.Errorf("no columns: got %v, want nobody", got)
	}
}

func BenchmarkAssign10x10(b *testing.B) {
	rng := rand.New(rand.NewPCG(9, 10))
	cost, unmatched := make([][]float64, 10), make([]float64, 10)
	for i := range cost {
		unmatched[i] = 16
		for range 10 {
			cost[i] = append(cost[i], 20*rng.Float64())
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		assign(cost, unmatched)
	}
}
