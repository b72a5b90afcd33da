package track

import (
	"math"
	"sort"
)

// person is one identity, or a face that may become one (id 0).
type person struct {
	id        int
	hits      int
	now       *candidate // what shows it on the current frame, or nil
	first     float64    // when it was first seen, seconds on the tracker's clock
	last      float64    // when it was last seen, likewise
	visible   bool       // published on the last frame
	published bool       // published before
	motion    motion
	shape     shape
	look      look
	smooth    smoother
	pose      Pose // last raw pose, the next fit's start
	posed     bool
}

// Tracker holds the identities of one camera. It is not safe for concurrent use.
type Tracker struct {
	options Options
	people  []*person
	lastID  int
	clock   clock
}

// New returns an empty tracker.
func New(options Options) *Tracker { return &Tracker{options: options.withDefaults()} }

// Configure changes the options from the next frame on; identities and filters go on.
func (t *Tracker) Configure(options Options) { t.options = options.withDefaults() }

// Update takes the next frame. Frames should come in order of time; a stamp that goes back counts as
// no time passed. Unusable faces are listed in Result.Rejected; no input makes Update fail.
func (t *Tracker) Update(obs Observation) Result {
	t.clock.advance(obs.TimeNS)
	seen, rejected := t.screen(obs)
	result := Result{Rejected: rejected}
	t.markCrowded(seen)
	matched := t.associate(seen)
	pending := t.follow(seen, matched)
	t.confirm(pending)
	t.publish(obs, seen, &result)
	t.forget()
	return result
}

// since is how long ago p was last seen, seconds.
func (t *Tracker) since(p *person) float64 { return t.clock.seconds - p.last }

// memory is how long p can be found again by its position, seconds.
func (t *Tracker) memory(p *person) float64 {
	if p.id == 0 {
		return t.clock.atLeast(t.options.TentativeSeconds, 2.5)
	}
	return t.clock.atLeast(t.options.MemorySeconds, 2.5)
}

// fresh is how long an identity may be unseen before it has to prove itself by appearance, seconds: one missed
// frame, but never so long that people can change places.
func (t *Tracker) fresh() float64 { return min(t.clock.atLeast(0.25, 1.5), 0.9) }

// markCrowded finds faces that overlap another face, or lie where two identities are expected.
func (t *Tracker) markCrowded(seen []*candidate) {
	for i, a := range seen {
		for _, b := range seen[i+1:] {
			if overlaps(a.face.Box, b.face.Box) {
				a.crowded, b.crowded = true, true
			}
		}
	}
	expected := make(map[*candidate]int, len(seen))
	for _, p := range t.people {
		gap := t.since(p)
		if p.id == 0 || gap > t.memory(p) {
			continue
		}
		ahead := p.motion.ahead(gap)
		for _, c := range seen {
			if overlaps(ahead.box(), c.face.Box) {
				expected[c]++
				c.crowded = c.crowded || expected[c] > 1
			}
		}
	}
}

// follow updates the people that were seen, starts a tentative one for every other face, and returns
// the tentative ones that have been seen often enough.
func (t *Tracker) follow(seen, matched []*candidate) []*person {
	taken := make(map[*candidate]bool, len(seen))
	var pending []*person
	for i, p := range t.people {
		c := matched[i]
		if c == nil {
			continue
		}
		taken[c] = true
		gap := t.since(p)
		p.motion = p.motion.ahead(gap)
		p.motion.correct(c)
		t.see(p, c, gap)
		if p.id == 0 && p.hits >= t.options.ConfirmHits {
			pending = append(pending, p)
		}
	}
	for _, c := range seen {
		if taken[c] {
			continue
		}
		p := &person{motion: newMotion(c), first: t.clock.seconds}
		t.see(p, c, 0)
		t.people = append(t.people, p)
		if p.hits >= t.options.ConfirmHits {
			pending = append(pending, p)
		}
	}
	return pending
}

// see records that candidate c shows p.
func (t *Tracker) see(p *person, c *candidate, gap float64) {
	p.hits++
	p.last = t.clock.seconds
	p.shape = c.shape
	p.look.learn(c.look, gap, c.crowded)
	p.now = c
}

// forget drops people who cannot come back.
func (t *Tracker) forget() {
	kept := t.people[:0]
	for _, p := range t.people {
		limit := t.memory(p)
		if p.id > 0 {
			limit = math.Max(t.options.ReIDSeconds, limit)
		}
		if t.since(p) <= limit {
			kept = append(kept, p)
		}
	}
	sort.SliceStable(kept, func(a, b int) bool { return kept[a].last > kept[b].last })
	t.people = kept[:min(len(kept), maxRemembered+t.options.MaxFaces)]
}
