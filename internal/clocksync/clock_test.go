package clocksync

import (
	"math"
	"math/rand/v2"
	"testing"
)

// peer is another host with a clock of its own: own = theirs + offset + drift · own.
type peer struct {
	offset, drift float64
	epoch         string
	random        *rand.Rand
	now           int64
}

func newPeer(offset, drift float64) *peer {
	return &peer{offset: offset, drift: drift, epoch: "boot", random: rand.New(rand.NewPCG(1, 2)), now: 100e9} //nolint:gosec // a test
}

func (p *peer) theirs(own int64) int64 { return own - int64(p.truth(own)) }

func (p *peer) truth(own int64) float64 { return p.offset + p.drift*float64(own) }

// ask is an exchange whose two ways take there and back.
func (p *peer) ask(there, back int64) Exchange {
	const work = 20_000
	e := Exchange{AskedNS: p.now, HeardNS: p.theirs(p.now + there), AnsweredNS: p.theirs(p.now + there + work), Epoch: p.epoch}
	p.now += there + work + back
	e.BackNS = p.now
	return e
}

// burst is of eight exchanges, each way of which takes the base and up to as much more by chance.
func (p *peer) burst(there, back int64) Exchange {
	var all []Exchange
	for range 8 {
		all = append(all, p.ask(there+p.random.Int64N(there), back+p.random.Int64N(back)))
		p.now += 1e6
	}
	best, _ := Best(all)
	return best
}

func (p *peer) mustHold(t *testing.T, c *Clock, most int64) Estimate {
	t.Helper()
	e, ok := c.At(p.now)
	if !ok {
		t.Fatal("nothing is known")
	}
	if wrong := math.Abs(float64(e.OffsetNS) - p.truth(p.now)); wrong > float64(e.ErrorNS) || e.ErrorNS > most {
		t.Fatalf("%+v: wrong by %.0f ns, at most %d may be said", e, wrong, most)
	}
	return e
}

func TestNothingIsKnownBeforeItIsMeasured(t *testing.T) {
	var c Clock
	if e, ok := c.At(1e9); ok {
		t.Errorf("%+v", e)
	}
	if c.Add(Exchange{AskedNS: 10, BackNS: 5}) {
		t.Error("a step of nothing")
	}
	if _, ok := c.At(1e9); ok {
		t.Error("an answer from before the question is believed")
	}
}

// The ways there and back may be as different as they like: the truth is within what is stated.
func TestAsymmetricWays(t *testing.T) {
	for _, ways := range [][2]int64{{200e3, 200e3}, {1e6, 50e3}, {50e3, 30e6}, {30e6, 1e3}} {
		p := newPeer(-5000e9, 0)
		var c Clock
		for range 20 {
			c.Add(p.burst(ways[0], ways[1]))
			p.mustHold(t, &c, ways[0]+ways[1]+10_000)
			p.now += 2e9
			p.mustHold(t, &c, ways[0]+ways[1]+10_000+400_000)
		}
		if c.Steps() != 0 {
			t.Errorf("%v: %d steps of a clock that goes on", ways, c.Steps())
		}
	}
}

// Of a burst one lucky exchange is enough.
func TestShortestRoundTripCounts(t *testing.T) {
	p := newPeer(7e9, 0)
	best, ok := Best([]Exchange{p.ask(9e6, 1e6), p.ask(100e3, 100e3), p.ask(1e6, 40e6), {AskedNS: 3, BackNS: 2}})
	if !ok || best.RoundTripNS() != 200e3 {
		t.Errorf("%+v, %v", best, ok)
	}
	if _, ok := Best([]Exchange{{AskedNS: 3, BackNS: 2}}); ok {
		t.Error("the best of nothing")
	}
}

// Clocks drift apart: the line follows, also over a minute without an answer.
func TestDrift(t *testing.T) {
	for _, ppm := range []float64{40, -80, 0.5} {
		p := newPeer(12345e9, ppm*1e-6)
		var c Clock
		for range 60 {
			c.Add(p.burst(150e3, 250e3))
			p.mustHold(t, &c, 600e3)
			p.now += 2e9
		}
		if e := p.mustHold(t, &c, 600e3); math.Abs(e.DriftPPM-ppm) > 3 {
			t.Errorf("drift of %v ppm is said to be %v", ppm, e.DriftPPM)
		}
		p.now += 60e9
		if e := p.mustHold(t, &c, 2e6); e.AgeNS < 60e9 {
			t.Errorf("an age of %d ns", e.AgeNS)
		}
		if c.Steps() != 0 {
			t.Errorf("%v ppm: %d steps", ppm, c.Steps())
		}
	}
}

// A host that was started again has another clock; one that slept has the same, behind.
func TestSteps(t *testing.T) {
	for name, change := range map[string]func(*peer){
		"another boot, far away": func(p *peer) { p.offset, p.epoch = 3e12, "next" },
		"another boot, near":     func(p *peer) { p.offset, p.epoch = p.offset+100, "next" },
		"asleep":                 func(p *peer) { p.offset += 20e9 },
	} {
		p := newPeer(50e9, 10e-6)
		var c Clock
		for range 30 {
			c.Add(p.burst(100e3, 100e3))
			p.now += 2e9
		}
		change(p)
		if !c.Add(p.burst(100e3, 100e3)) || c.Steps() != 1 {
			t.Errorf("%s: not noticed", name)
		}
		if e := p.mustHold(t, &c, 300e3); e.DriftPPM != 0 {
			t.Errorf("%s: the drift of the clock before is kept: %+v", name, e)
		}
		for range 30 {
			if p.now += 2e9; c.Add(p.burst(100e3, 100e3)) {
				t.Errorf("%s: steps again", name)
			}
			p.mustHold(t, &c, 300e3)
		}
	}
}

// What comes late in a busy moment does not spoil what was known.
func TestBusyMoment(t *testing.T) {
	p := newPeer(50e9, 0)
	var c Clock
	for range 20 {
		c.Add(p.burst(100e3, 100e3))
		p.now += 2e9
	}
	if c.Add(p.burst(80e6, 1e3)) {
		t.Error("a slow way is no step")
	}
	p.mustHold(t, &c, 400e3)
}
