package synchrony

import "math"

// measures computes a result's numbers out of the samples of both sides.
type measures struct {
	sizes
	rate   float64
	enough int // samples of a baseline

	values, transients, baselines *correlator
	a, b                          []float64 // filtered series
}

func newMeasures(o Options) *measures {
	s := o.sizes()
	n := max(s.window+s.lag, s.sustained)
	return &measures{
		sizes: s, rate: o.Rate, enough: o.enough(s.baseline),
		values:     newCorrelator(s.window, s.lag, o.enough(s.window), o.MinDeviation),
		transients: newCorrelator(s.window, s.lag, o.enough(s.window), o.MinSpeed),
		baselines:  newCorrelator(s.sustained, 0, o.enough(s.sustained), o.MinBaselineDeviation),
		a:          make([]float64, n), b: make([]float64, n),
	}
}

// of compares one row of two sides in the window that ends before sample end.
func (m *measures) of(a, b *series, row int, end int64) Synchrony {
	from, to := end-int64(m.window+m.half), end+int64(m.ahead())
	x, y := a.window(row, from, to), b.window(row, from, to)
	m.values.run(x[m.half:len(x)-m.half], y[m.half:len(y)-m.half])

	n := m.window + m.lag
	differentiate(m.a[:n], x, m.half, m.rate)
	differentiate(m.b[:n], y, m.half, m.rate)
	m.transients.run(m.a[:n], m.b[:n])

	from = end - int64(m.sustained+m.baseline-1)
	average(m.a[:m.sustained], a.window(row, from, end), m.baseline, m.enough)
	average(m.b[:m.sustained], b.window(row, from, end), m.baseline, m.enough)
	m.baselines.run(m.a[:m.sustained], m.b[:m.sustained])

	return Synchrony{
		Value:     m.lagged(m.values),
		Transient: m.lagged(m.transients),
		Sustained: Level{R: m.baselines.r[0], Valid: m.baselines.valid},
	}
}

func (m *measures) lagged(c *correlator) Lagged {
	nearest, highest := peaks(c.r, m.span)
	return Lagged{R: c.r[c.lag], Nearest: m.peak(c, nearest), Highest: m.peak(c, highest), Valid: c.valid}
}

// peak is the maximum at r[i], no number if i is negative.
func (m *measures) peak(c *correlator, i int) Peak {
	if i < 0 {
		return Peak{math.NaN(), math.NaN()}
	}
	height, place := refine(c.r, i)
	return Peak{R: height, LagSeconds: (place - float64(c.lag)) / m.rate}
}
