package clocksync

import (
	"math"
	"time"
)

// Exchange is a request and its answer.
type Exchange struct {
	AskedNS, BackNS     int64  // on this host's clock
	HeardNS, AnsweredNS int64  // on the other one's
	Epoch               string // of the other clock: another one when it was started anew
}

// RoundTripNS is how long the messages were under way.
func (e Exchange) RoundTripNS() int64 { return (e.BackNS - e.AskedNS) - (e.AnsweredNS - e.HeardNS) }

// possible tells exchanges from what no two clocks can show.
func (e Exchange) possible() bool {
	return e.BackNS >= e.AskedNS && e.AnsweredNS >= e.HeardNS && e.RoundTripNS() >= 0
}

// Best is the exchange of a burst that says most; false when none says anything.
func Best(burst []Exchange) (best Exchange, ok bool) {
	for _, e := range burst {
		if e.possible() && (!ok || e.RoundTripNS() < best.RoundTripNS()) {
			best, ok = e, true
		}
	}
	return best, ok
}

// Estimate is what is known of the other clock at an instant.
type Estimate struct {
	OffsetNS    int64   // to be added to times of the other clock
	ErrorNS     int64   // how wrong that may be
	DriftPPM    float64 // how much the offset grows, in millionths of the time; 0 until it is known
	RoundTripNS int64   // of the last exchange
	AgeNS       int64   // since then
}

const (
	window    = 64                     // bursts that are kept
	oldest    = int64(5 * time.Minute) // and how long
	driftFrom = int64(20 * time.Second)
	wander    = 15e-6  // how much the rates of two clocks change, when their drift is known …
	unknown   = 200e-6 // … and how far they are apart at most
)

// measured is what one exchange says: at an instant of this clock, the offset lies within wrong of offset.
type measured struct {
	at            int64
	offset, wrong float64
	trip          int64
}

// Clock is another host's clock. It is not safe for concurrent use; the zero value knows nothing.
type Clock struct {
	epoch string
	all   []measured
	steps int
	line  line
}

// line is the drift: offset = middle + slope · (t − at).
type line struct {
	at            int64
	middle, slope float64
	rate          float64 // how wrong the slope may be
	known         bool
}

// Steps counts how often the other clock was another one than before.
func (c *Clock) Steps() int { return c.steps }

// Forget gives up what was measured.
func (c *Clock) Forget() { c.all, c.line = nil, line{} }

// Add takes the best exchange of a burst. It tells whether the clock is another one than before.
func (c *Clock) Add(e Exchange) (stepped bool) {
	if !e.possible() {
		return false
	}
	m := measured{
		at: e.AskedNS + (e.BackNS-e.AskedNS)/2, trip: e.RoundTripNS(), wrong: float64(e.RoundTripNS()) / 2,
		offset: (float64(e.AskedNS-e.HeardNS) + float64(e.BackNS-e.AnsweredNS)) / 2,
	}
	if now, ok := c.At(m.at); ok && (e.Epoch != c.epoch || math.Abs(m.offset-float64(now.OffsetNS)) > m.wrong+float64(now.ErrorNS)+1) {
		stepped = true
		c.steps++
		c.Forget()
	}
	c.epoch = e.Epoch
	for len(c.all) > 0 && (len(c.all) >= window || m.at-c.all[0].at > oldest) {
		c.all = c.all[1:]
	}
	c.all = append(c.all, m)
	c.fit()
	return stepped
}

// fit lays a line through what was measured; what is better known weighs more.
func (c *Clock) fit() {
	last := c.all[len(c.all)-1]
	c.line = line{at: last.at, middle: last.offset, rate: unknown}
	span := last.at - c.all[0].at
	if span < driftFrom || len(c.all) < 4 {
		return
	}
	var sum, t, o float64
	weight := func(m measured) float64 { return 1 / (m.wrong*m.wrong + 1e6) } // nothing is known better than to a microsecond
	for _, m := range c.all {
		w := weight(m)
		sum, t, o = sum+w, t+w*float64(m.at-last.at), o+w*(m.offset-last.offset)
	}
	t, o = t/sum, o/sum
	var tt, to, wrong float64
	for _, m := range c.all {
		w, dt, do := weight(m), float64(m.at-last.at)-t, m.offset-last.offset-o
		tt, to, wrong = tt+w*dt*dt, to+w*dt*do, wrong+w*m.wrong
	}
	rate := wander + 3*wrong/sum/float64(span) // three: half of them as wrong as can be in one direction, half in the other
	if rate >= unknown {
		return
	}
	slope := to / tt
	c.line = line{at: last.at, middle: last.offset + o - slope*t, slope: slope, rate: rate, known: true}
}

// At is what is known at an instant of this clock; false while nothing is.
func (c *Clock) At(now int64) (Estimate, bool) {
	if len(c.all) == 0 {
		return Estimate{}, false
	}
	last := c.all[len(c.all)-1]
	best, low := c.bound(last, now)
	for _, m := range c.all { // an older one may be better, if it had a shorter way
		if b, wrong := c.bound(m, now); wrong < low {
			best, low = b, wrong
		}
	}
	offset := c.line.middle + c.line.slope*float64(now-c.line.at)
	offset = max(best-low, min(best+low, offset))
	e := Estimate{
		OffsetNS: int64(math.Round(offset)), ErrorNS: int64(math.Ceil(low + math.Abs(offset-best))),
		RoundTripNS: last.trip, AgeNS: max(0, now-last.at),
	}
	if c.line.known {
		e.DriftPPM = c.line.slope * 1e6
	}
	return e, true
}

// bound is what one measurement says of another instant, and how wrong that may be.
func (c *Clock) bound(m measured, now int64) (offset, wrong float64) {
	apart := float64(now - m.at)
	return m.offset + c.line.slope*apart, m.wrong + c.line.rate*math.Abs(apart)
}
