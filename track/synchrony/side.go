package synchrony

import "math"

// side resamples one participant's frames. Its rows are the channels and their mean.
type side struct {
	series
	channels []int
	maxGap   int64 // ns

	seen   bool
	lastNS int64
	last   []float64 // the chosen values of the last frame, NaN where missing
	now    []float64 // those of the frame that is being added
}

func newSide(channels []int, keep int, maxGap int64) side {
	return side{
		series: newSeries(len(channels)+1, keep), channels: channels, maxGap: maxGap,
		last: make([]float64, len(channels)), now: make([]float64, len(channels)),
	}
}

func (s *side) reset() {
	s.series.reset()
	s.seen = false
}

// take picks the chosen values out of a frame; nil is a frame without a face.
func (s *side) take(values []float64) {
	for i, c := range s.channels {
		s.now[i] = math.NaN()
		if values != nil && math.Abs(values[c]) <= implausible {
			s.now[i] = values[c]
		}
	}
}

// remember makes the frame taken at timeNS the one to interpolate from.
func (s *side) remember(timeNS int64) {
	s.last, s.now = s.now, s.last
	s.lastNS, s.seen = timeNS, true
}

// sample appends the grid sample at gridNS, not after the frame taken at timeNS.
func (s *side) sample(gridNS, timeNS int64) {
	weight, ok := 1.0, true
	if gridNS < timeNS {
		ok = s.seen && timeNS-s.lastNS <= s.maxGap
		weight = float64(gridNS-s.lastNS) / float64(timeNS-s.lastNS)
	}
	column, sum := s.grow(), 0.0
	for i, x := range s.now {
		switch {
		case !ok:
			x = math.NaN()
		case weight < 1:
			x = s.last[i] + weight*(x-s.last[i])
		}
		s.rows[i][column] = x
		sum += x
	}
	s.rows[len(s.now)][column] = sum / float64(len(s.now))
}

// miss appends a grid sample that is not there.
func (s *side) miss() {
	column := s.grow()
	for _, row := range s.rows {
		row[column] = math.NaN()
	}
}
