package track

import "math"

// Costs are negative log-likelihoods relative to a face that is exactly where it was expected.
const (
	positionSigma = 0.1  // least standard deviation of a predicted position, face sizes
	sizeSigma     = 0.08 // least standard deviation of a predicted log size
	heavyTail     = 4.0  // degrees of freedom of Student's t: sudden moves are rare, not impossible
	absentCost    = 16.0 // price of an identity that nobody on the frame shows
	tentativeCost = 9.0  // the same for an unconfirmed one
	misfitLimit   = 9.0  // a pair that costs more, beyond its doubt, does not belong together
	crowdLimit    = 7.0  // the same in a crowd, where a leap is likely somebody else
	lookLimit     = 7.0  // appearance alone never breaks an otherwise perfect match
	shapeLimit    = 1.5
	lookGate      = 3.0 // deviations of appearance that a returning identity may show
	unsureGate    = 2.0 // the same when the deviation is only roughly known
	fadeSeconds   = 0.3 // shape and overlap stop mattering with this time constant
	rivalMargin   = 2.0 // two absent identities whose costs differ less are both possible
)

// forbidden marks a pair that cannot be.
var forbidden = math.Inf(1)

// cost tells how badly candidate c fits identity p at the present time.
func (t *Tracker) cost(p *person, c *candidate) float64 {
	gap := t.since(p)
	expected := p.motion.ahead(gap)
	size := (expected.size() + c.size) / 2
	dx, dy := (c.x-expected.x.x)/size, (c.y-expected.y.x)/size
	zoom := math.Log(c.size) - expected.log.x
	similarity, known := p.look.compare(c.look)
	if math.Hypot(dx, dy) > reach(p, gap, known) || math.Abs(zoom) > 0.6+0.5*math.Min(gap, 2) {
		return forbidden
	}
	varX, varY := expected.variances(size)
	varZoom := expected.log.pxx + sizeSigma*sizeSigma
	cost := tail(dx*dx/varX+dy*dy/varY, 2) + tail(zoom*zoom/varZoom, 1)
	fade := math.Exp(-gap / fadeSeconds)
	cost += fade * (1 - iou(expected.box(), c.face.Box)) / 2
	if d, ok := p.shape.distance(c.shape); ok {
		cost += fade * math.Min(50*d*d, shapeLimit)
	}
	if known {
		z, sd := p.look.mismatch(similarity, c.crowded)
		if z > gate(sd) && (gap > t.fresh() || p.id == 0) {
			return forbidden
		}
		cost += math.Min(z*z/2, lookLimit) + math.Log(sd/lookFloor)
	}
	if c.crowded && cost > crowdLimit || cost > misfitLimit {
		return forbidden
	}
	return cost + doubt(varX, varY)
}

// gate is how many deviations of appearance a returning identity may show.
func gate(sd float64) float64 {
	if sd >= lookUnsure {
		return unsureGate
	}
	return lookGate
}

// variances are those of a predicted position, in face sizes².
func (m *motion) variances(size float64) (x, y float64) {
	const floor = positionSigma * positionSigma
	return m.x.pxx/(size*size) + floor, m.y.pxx/(size*size) + floor
}

// doubt is the price of a vague prediction, for which any place is a little likely.
func doubt(varX, varY float64) float64 {
	return 0.5 * math.Log(varX*varY/math.Pow(positionSigma, 4))
}

// reach is how far from its predicted position an identity may be, in face sizes.
func reach(p *person, gap float64, known bool) float64 {
	switch gap = math.Min(gap, blindSeconds); {
	case p.id == 0:
		return 0.6 + 3*gap
	case known:
		return 0.8 + 4*gap
	}
	return 0.8 + 2*gap
}

// tail is the negative log of Student's t density of squared distance z2, without its constant.
func tail(z2, dimensions float64) float64 {
	return (heavyTail + dimensions) / 2 * math.Log1p(z2/heavyTail)
}

// associate returns for every person the candidate that shows it, or nil.
func (t *Tracker) associate(seen []*candidate) []*candidate {
	matched := make([]*candidate, len(t.people))
	if len(seen) == 0 || len(t.people) == 0 {
		return matched
	}
	cost := make([][]float64, len(t.people))
	absent := make([]float64, len(t.people))
	for i, p := range t.people {
		cost[i] = make([]float64, len(seen))
		absent[i] = absentCost
		if p.id == 0 {
			absent[i] = tentativeCost
		}
		for j, c := range seen {
			cost[i][j] = forbidden
			if t.since(p) <= t.memory(p) {
				cost[i][j] = t.cost(p, c)
			}
		}
	}
	columns := assign(cost, absent)
	for i, j := range columns {
		if j >= 0 && !t.contested(cost, columns, i, j) {
			matched[i] = seen[j]
		}
	}
	return matched
}

// contested tells whether another absent identity could equally well be the one that returns as
// candidate j. Then the face stays tentative for a few frames, which makes its appearance clearer.
func (t *Tracker) contested(cost [][]float64, columns []int, i, j int) bool {
	absent := func(k int) bool { return t.people[k].id > 0 && t.since(t.people[k]) > t.fresh() }
	if !absent(i) {
		return false
	}
	for k := range t.people {
		if k == i || columns[k] >= 0 || !absent(k) || len(t.people[k].look.mean) == 0 {
			continue
		}
		if cost[k][j] < cost[i][j]+rivalMargin {
			return true
		}
	}
	return false
}
