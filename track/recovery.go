package track

import (
	"math"
	"sort"
)

// patienceSeconds bounds how long an unclear newcomer waits for its number.
const patienceSeconds = 2

// confirm gives tentative people that were seen often enough their number: that of the lost identity
// they turn out to be, or else the next new one.
func (t *Tracker) confirm(pending []*person) {
	for _, p := range pending {
		old := t.nearby(p)
		if old == nil {
			old = t.lookalike(p)
		}
		if old == nil && t.undecided(p) {
			continue
		}
		if old == nil {
			t.lastID++
			p.id = t.lastID
			continue
		}
		t.resume(p, old)
	}
}

// lost lists the identities that p may be: those that have not been seen since p was first seen.
func (t *Tracker) lost(p *person) []*person {
	var absent []*person
	for _, o := range t.people {
		if o.id > 0 && o.last < p.first {
			absent = append(absent, o)
		}
	}
	sort.Slice(absent, func(a, b int) bool { return absent[a].id < absent[b].id })
	return absent
}

// nearby returns the lost identity that fits p best by position and by the appearance that p has
// gathered meanwhile, or nil.
func (t *Tracker) nearby(p *person) *person {
	c := *p.now // crowded or not, as it is now
	if len(p.look.mean) > 0 {
		c.look = p.look.mean
	}
	var best *person
	least := math.Inf(1)
	for _, o := range t.lost(p) {
		if t.since(o) > t.memory(o) || !t.alike(o, &c) {
			continue
		}
		if cost := t.cost(o, &c); cost < least {
			best, least = o, cost
		}
	}
	return best
}

// alike tells that nothing in their appearance keeps c from being o.
func (t *Tracker) alike(o *person, c *candidate) bool {
	similarity, ok := o.look.compare(c.look)
	z, sd := o.look.mismatch(similarity, c.crowded)
	return !ok || z <= gate(sd)
}

// lookalike returns the lost identity that p resembles enough and clearly more than any other
// identity, present or lost, or nil.
func (t *Tracker) lookalike(p *person) *person {
	var best *person
	first, second := -1.0, -1.0
	for _, o := range t.people {
		similarity, ok := o.look.compare(p.look.mean)
		if !ok || o.id == 0 || o == p {
			continue
		}
		if similarity > first {
			best, first, second = o, similarity, first
		} else if similarity > second {
			second = similarity
		}
	}
	if best == nil || best.last >= p.first || t.since(best) > t.options.ReIDSeconds {
		return nil
	}
	if z, sd := best.look.mismatch(first, p.look.rough); z > gate(sd) || first < t.options.ReIDSimilarity || first < second+t.options.ReIDMargin {
		return nil
	}
	return best
}

// undecided tells that p had better wait for its number: it overlaps another face, which spoils its
// appearance, and somebody is missing who may well be p.
func (t *Tracker) undecided(p *person) bool {
	if !p.now.crowded || t.clock.seconds-p.first > patienceSeconds {
		return false
	}
	for _, o := range t.lost(p) {
		if similarity, ok := o.look.compare(p.look.mean); ok {
			if z, sd := o.look.mismatch(similarity, true); z < gate(sd) {
				return true
			}
			continue
		}
		gap := t.since(o)
		expected := o.motion.ahead(gap)
		distance := math.Hypot(p.now.x-expected.x.x, p.now.y-expected.y.x) / p.now.size
		if gap <= t.memory(o) && distance < reach(o, gap, true) {
			return true
		}
	}
	return false
}

// resume lets p go on as the identity old, whose long-known appearance it keeps.
func (t *Tracker) resume(p, old *person) {
	p.id, p.visible, p.published = old.id, old.visible, old.published
	fresh, rough := p.look.mean, p.look.rough
	p.look = old.look
	if len(fresh) > 0 {
		p.look.learn(fresh, 0, rough)
	}
	for i, o := range t.people {
		if o == old {
			t.people = append(t.people[:i], t.people[i+1:]...)
			return
		}
	}
}
