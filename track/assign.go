package track

import "math"

// assign pairs rows with columns so that the sum of costs is least, where leaving a row without a
// column costs unmatched[row]. An infinite cost forbids a pair. It returns each row's column or -1.
//
// Shortest augmenting paths with dual prices (Hungarian method), O(rows²·(columns+rows)): every row
// has a private extra column that stands for "nobody".
func assign(cost [][]float64, unmatched []float64) []int {
	rows := len(cost)
	if rows == 0 {
		return nil
	}
	a := newAssignment(cost, unmatched)
	for row := range rows {
		a.augment(row)
	}
	result := make([]int, rows)
	for i := range result {
		result[i] = -1
	}
	for j := range a.columns {
		if r := a.owner[j]; r >= 0 {
			result[r] = j
		}
	}
	return result
}

type assignment struct {
	cost            [][]float64
	unmatched       []float64
	columns         int       // real columns; column columns+i is row i's own "nobody"
	rowPrice, price []float64 // dual variables
	owner           []int     // row that holds a column, or -1
	nearest         []float64 // cheapest reduced cost to each column on the current search
	previous        []int     // the column before it on that path, or -1
	done            []bool
}

func newAssignment(cost [][]float64, unmatched []float64) *assignment {
	rows, columns := len(cost), len(cost[0])
	all := rows + columns
	a := &assignment{
		cost: cost, unmatched: unmatched, columns: columns,
		rowPrice: make([]float64, rows), price: make([]float64, all),
		owner: make([]int, all), nearest: make([]float64, all), previous: make([]int, all), done: make([]bool, all),
	}
	for j := range a.owner {
		a.owner[j] = -1
	}
	return a
}

// at is the cost of a pair, real or "nobody".
func (a *assignment) at(row, column int) float64 {
	switch {
	case column < a.columns:
		return a.cost[row][column]
	case column-a.columns == row:
		return a.unmatched[row]
	}
	return math.Inf(1)
}

// augment finds a column for one more row, moving earlier rows along the cheapest path.
func (a *assignment) augment(source int) {
	for j := range a.nearest {
		a.nearest[j], a.previous[j], a.done[j] = math.Inf(1), -1, false
	}
	row, reached, length := source, -1, 0.0
	for {
		a.relax(row, reached, length)
		reached = a.closest()
		length = a.nearest[reached]
		a.done[reached] = true
		if a.owner[reached] < 0 {
			break
		}
		row = a.owner[reached]
	}
	a.reprice(source, length)
	for j := reached; j >= 0; j = a.previous[j] {
		if a.previous[j] < 0 {
			a.owner[j] = source
		} else {
			a.owner[j] = a.owner[a.previous[j]]
		}
	}
}

// relax offers every open column the way through row, which was reached over column from.
func (a *assignment) relax(row, from int, length float64) {
	for j := range a.nearest {
		if a.done[j] {
			continue
		}
		if d := length + a.at(row, j) - a.rowPrice[row] - a.price[j]; d < a.nearest[j] {
			a.nearest[j], a.previous[j] = d, from
		}
	}
}

// closest returns the open column with the cheapest path; a row's own "nobody" keeps one reachable.
func (a *assignment) closest() int {
	best := -1
	for j, d := range a.nearest {
		if !a.done[j] && (best < 0 || d < a.nearest[best]) {
			best = j
		}
	}
	return best
}

// reprice keeps all reduced costs non-negative after a path of the given length.
func (a *assignment) reprice(source int, length float64) {
	a.rowPrice[source] += length
	for j, d := range a.nearest {
		if !a.done[j] || d >= length {
			continue
		}
		a.price[j] -= length - d
		a.rowPrice[a.owner[j]] += length - d
	}
}
