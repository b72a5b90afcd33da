package track

import (
	"math"
	"slices"
)

// State is what a tracker knows about people, for another one that goes on in its place: a few hundred bytes an
// identity as JSON. It holds no time stamps, only ages.
type State struct {
	LastID      int        `json:"last_id"` // highest identity given so far
	BeatSeconds float64    `json:"beat_s"`  // usual time between frames
	Identities  []Identity `json:"identities"`
}

// Identity is one remembered person in a [State].
type Identity struct {
	ID            int        `json:"id"`
	UnseenSeconds float64    `json:"unseen_s"` // since it was last seen
	Visible       bool       `json:"visible"`  // it was published on the last frame
	Box           [4]float64 `json:"box"`      // where it was last seen: x, y, width, height in px
	Speed         [2]float64 `json:"speed"`    // of the box, px/s
	// Appearance is the mean descriptor, of unit length, rounded to five places; null without descriptors.
	// What follows says how it varies on this person: the mean and variance of the similarity to itself.
	Appearance []float64 `json:"appearance"`
	Sights     int       `json:"sights"`
	Similarity float64   `json:"similarity"`
	Variance   float64   `json:"variance"`
	Mixed      bool      `json:"mixed,omitempty"` // another face overlapped on every sight so far
}

// State returns what is known after the last Update. Faces that are nobody yet are not in it.
func (t *Tracker) State() State {
	s := State{LastID: t.lastID, BeatSeconds: t.clock.beat, Identities: []Identity{}}
	for _, p := range t.people {
		if p.id == 0 {
			continue
		}
		s.Identities = append(s.Identities, Identity{
			ID: p.id, UnseenSeconds: t.since(p), Visible: p.visible, Box: p.motion.box(), Speed: [2]float64{p.motion.x.v, p.motion.y.v},
			Appearance: rounded(p.look.mean), Sights: p.look.sights, Similarity: p.look.similar, Variance: p.look.variance,
			Mixed: p.look.rough,
		})
	}
	return s
}

// Restore returns a tracker that goes on from s. elapsed is the time from the last frame of s to the next one, in
// seconds: within Options.MemorySeconds people are found again by place and appearance, later by appearance. A
// negative elapsed stands for an unknown time: places count no more. Numbers given before are never given again.
// Identities of s with impossible values are left out.
func Restore(options Options, s State, elapsed float64) *Tracker {
	t := New(options)
	t.lastID = max(0, s.LastID)
	if s.BeatSeconds > 0 {
		t.clock.beat, t.clock.steps = math.Min(s.BeatSeconds, longestBeat), beatSteps
	}
	timed := elapsed >= 0
	if timed {
		t.clock.seconds = math.Min(elapsed, longestStep)
	}
	known := map[int]bool{}
	for _, i := range s.Identities[:min(len(s.Identities), maxRemembered+t.options.MaxFaces)] {
		if !i.possible() || known[i.ID] {
			continue
		}
		known[i.ID] = true
		t.lastID = max(t.lastID, i.ID)
		p := i.person()
		if p.last = -i.UnseenSeconds; !timed {
			p.visible, p.last = false, math.Min(p.last, -t.memory(p)-1)
		}
		p.first = p.last
		t.people = append(t.people, p)
	}
	return t
}

// possible tells whether an identity can be worked with.
func (i *Identity) possible() bool {
	b := i.Box
	return i.ID > 0 && i.UnseenSeconds >= 0 && !math.IsInf(i.UnseenSeconds, 0) &&
		allSane(b[:]) && b[2] >= 1 && b[3] >= 1 && allSane(i.Speed[:]) &&
		(len(i.Appearance) == 0 || allSane(i.Appearance) && norm(i.Appearance) > 1e-6) &&
		i.Sights >= 0 && math.Abs(i.Similarity) <= 2 && i.Variance >= 0 && i.Variance <= 4
}

// person is the identity as it was when it was last seen; times are the caller's.
func (i *Identity) person() *person {
	p := &person{id: i.ID, visible: i.Visible, published: true}
	p.motion = newMotion(newCandidate(0, &Face{Box: i.Box}))
	p.motion.x.v, p.motion.y.v = i.Speed[0], i.Speed[1]
	if len(i.Appearance) > 0 && i.Sights > 0 {
		p.look = look{mean: unit(i.Appearance), sights: i.Sights, similar: i.Similarity, variance: i.Variance, rough: i.Mixed}
	}
	return p
}

// rounded returns a copy whose digits say no more than a descriptor knows.
func rounded(a []float64) []float64 {
	r := slices.Clone(a)
	for i := range r {
		r[i] = math.Round(r[i]*1e5) / 1e5
	}
	return r
}
