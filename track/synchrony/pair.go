package synchrony

import (
	"fmt"
	"math"
	"slices"
)

// Side is one of the two participants of a [Pair].
type Side int

// The two sides. Positive lags mean that B follows A.
const (
	A Side = iota
	B
)

// Pair compares two participants. It is not safe for concurrent use.
type Pair struct {
	sides    [2]side
	measures *measures
	give     func(Result)
	result   Result
	stats    Stats
	values   int // least length of a frame

	period      float64 // of the grid, ns
	wait        int64   // ns
	longest     int64   // ns; a longer silence leaves no sample in any window
	started     bool
	originNS    int64
	nowNS       int64
	windowEnd   int64 // sample after the window of the next result
	samplesLeft int64 // that a result needs after its window
}

// New makes a pair that hands every result, in order of time, to give, from within [Pair.Add] and
// [Pair.Advance], neither of which give may call. The error wraps [ErrOptions] and names the field.
func New(o Options, give func(Result)) (*Pair, error) {
	o, err := o.resolve()
	if err != nil {
		return nil, err
	}
	if give == nil {
		return nil, fmt.Errorf("%w: nobody takes the results", ErrOptions)
	}
	o.Channels = slices.Clone(o.Channels)
	s := o.sizes()
	keep := s.history() + s.ahead() + s.wait + slack
	gap := int64(o.MaxGapSeconds * nanoseconds)
	return &Pair{
		sides:       [2]side{newSide(o.Channels, keep, gap), newSide(o.Channels, keep, gap)},
		measures:    newMeasures(o),
		give:        give,
		result:      Result{Channels: make([]Synchrony, len(o.Channels))},
		values:      slices.Max(o.Channels) + 1,
		period:      nanoseconds / o.Rate,
		wait:        int64(o.WaitSeconds * nanoseconds),
		longest:     int64(float64(keep) * nanoseconds / o.Rate),
		samplesLeft: int64(s.ahead()),
	}, nil
}

// Stats are the counts so far.
func (p *Pair) Stats() Stats { return p.stats }

// Add takes a frame of one side at timeNS; values, which are not kept, are read at Options.Channels;
// nil stands for a frame without a face. A frame that is not after the last one of its side is
// dropped and counted, and so is a time that no clock tells (negative, beyond 2^62). Frames of the two
// sides may come up to Options.WaitSeconds apart, also when recordings are read. After a silence of
// both sides that is longer than all windows a new grid begins. An unknown side and a frame with too few
// values are errors and change nothing.
func (p *Pair) Add(to Side, timeNS int64, values []float64) error {
	if to != A && to != B {
		return fmt.Errorf("synchrony: no side %d", to)
	}
	if values != nil && len(values) < p.values {
		return fmt.Errorf("synchrony: %d values in a frame, not at least %d", len(values), p.values)
	}
	s := &p.sides[to]
	if timeNS < 0 || timeNS > latestNS || s.seen && timeNS <= s.lastNS {
		p.stats.Dropped[to]++
		return nil
	}
	p.begin(timeNS)
	if timeNS < p.gridNS(max(0, s.end-1)) {
		p.stats.Late[to]++
	}
	s.take(values)
	for at := p.gridNS(s.end); at <= timeNS; at = p.gridNS(s.end) {
		s.sample(at, timeNS)
		p.settle(at)
	}
	s.remember(timeNS)
	p.nowNS = max(p.nowNS, timeNS)
	p.settle(p.nowNS)
	return nil
}

// Advance says that it is timeNS although no frame came: what has been waited for long enough is
// missing, and the results that this completes are given. Times that have passed change nothing.
func (p *Pair) Advance(timeNS int64) {
	if !p.started || timeNS <= p.nowNS || timeNS > latestNS {
		return
	}
	p.nowNS = min(timeNS, p.nowNS+p.longest)
	p.settle(p.nowNS)
	p.started = timeNS == p.nowNS
}

// begin starts a grid at timeNS, for the first frame and after a silence in which all windows ran empty.
func (p *Pair) begin(timeNS int64) {
	restart := p.windowEnd > 0
	if p.started && timeNS-p.nowNS > p.longest {
		p.Advance(timeNS)
	}
	if p.started {
		return
	}
	if restart {
		p.stats.Restarts++
	}
	for i := range p.sides {
		p.sides[i].reset()
	}
	p.nowNS = max(p.nowNS, timeNS) // results never go back in time
	p.started, p.originNS = true, p.nowNS
	p.windowEnd = int64(p.measures.window)
}

// gridNS is the time of a sample.
func (p *Pair) gridNS(i int64) int64 { return p.originNS + int64(math.Round(float64(i)*p.period)) }

// settle gives the results that are complete at nowNS. The side that is behind goes first, so that
// the sides are never further apart than the series are long.
func (p *Pair) settle(nowNS int64) {
	p.complete()
	for {
		behind := &p.sides[A]
		if p.sides[B].end < behind.end {
			behind = &p.sides[B]
		}
		if p.gridNS(behind.end) >= nowNS-p.wait {
			return
		}
		behind.miss()
		p.complete()
	}
}

// complete gives the results for which both sides have all samples.
func (p *Pair) complete() {
	for min(p.sides[A].end, p.sides[B].end) >= p.windowEnd+p.samplesLeft {
		r, rows := &p.result, len(p.result.Channels)
		r.FromNS, r.ToNS = p.gridNS(p.windowEnd-int64(p.measures.window)), p.gridNS(p.windowEnd)
		for i := range rows {
			r.Channels[i] = p.measures.of(&p.sides[A].series, &p.sides[B].series, i, p.windowEnd)
		}
		r.Mean = p.measures.of(&p.sides[A].series, &p.sides[B].series, rows, p.windowEnd)
		p.windowEnd += int64(p.measures.step)
		p.give(*r)
	}
}
