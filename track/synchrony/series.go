package synchrony

import "math"

// series keeps the last samples of some rows. Samples have absolute numbers; those before number 0 are
// missing (NaN), so that a window which begins before the first frame needs no special case.
type series struct {
	rows  [][]float64
	keep  int
	first int64 // number of rows[·][0]
	end   int64 // number of the next sample
}

func newSeries(rows, keep int) series {
	s := series{keep: keep, rows: make([][]float64, rows)}
	for i := range s.rows {
		s.rows[i] = make([]float64, keep+keep/4+1)
	}
	s.reset()
	return s
}

func (s *series) reset() {
	s.first, s.end = -int64(s.keep), 0
	for _, row := range s.rows {
		for i := range row[:s.keep] {
			row[i] = math.NaN()
		}
	}
}

// grow makes room for one sample and returns its column. Columns are contiguous: every so often the
// ones still needed move to the front, which costs a few copies per sample.
func (s *series) grow() int {
	column := int(s.end - s.first)
	if column == len(s.rows[0]) {
		for _, row := range s.rows {
			copy(row, row[column-s.keep:])
		}
		s.first = s.end - int64(s.keep)
		column = s.keep
	}
	s.end++
	return column
}

// window is samples from … to-1 of a row.
func (s *series) window(row int, from, to int64) []float64 {
	return s.rows[row][from-s.first : to-s.first]
}
