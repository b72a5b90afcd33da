package track

import (
	"math"
	"sort"
)

// absurdPixels is beyond any camera; larger coordinates are decoding errors.
const absurdPixels = 1e6

// screen returns the usable faces of an observation, and why the others are not usable.
func (t *Tracker) screen(obs Observation) ([]*candidate, []Rejection) {
	var rejected []Rejection
	var usable []int
	for i := range obs.Faces {
		if reason := t.check(&obs.Faces[i], obs.Width, obs.Height); reason != "" {
			rejected = append(rejected, Rejection{i, reason})
			continue
		}
		usable = append(usable, i)
	}
	sort.SliceStable(usable, func(a, b int) bool {
		return obs.Faces[usable[a]].Presence > obs.Faces[usable[b]].Presence
	})
	var kept []*candidate
	for n, i := range usable {
		if n >= t.options.MaxFaces {
			rejected = append(rejected, Rejection{i, ReasonTooMany})
			continue
		}
		c := newCandidate(i, &obs.Faces[i])
		if duplicates(c, kept) {
			rejected = append(rejected, Rejection{i, ReasonDuplicate})
			continue
		}
		kept = append(kept, c)
	}
	sort.Slice(rejected, func(a, b int) bool { return rejected[a].Index < rejected[b].Index })
	return kept, rejected
}

// check returns "" for a usable face.
func (t *Tracker) check(f *Face, width, height int) Reason {
	x, y, w, h := f.Box[0], f.Box[1], f.Box[2], f.Box[3]
	switch {
	case !sane(x) || !sane(y) || !sane(w) || !sane(h) || w < 1 || h < 1:
		return ReasonBox
	case width > 0 && height > 0 && (x+w <= 0 || y+h <= 0 || x >= float64(width) || y >= float64(height)):
		return ReasonOutside
	case !sane(f.Presence) || f.Presence < t.options.MinPresence:
		return ReasonPresence
	}
	for i := range f.Points {
		p := &f.Points[i]
		if !sane(float64(p[0])) || !sane(float64(p[1])) || !sane(float64(p[2])) {
			return ReasonPoints
		}
	}
	if !allSane(f.Blendshapes) {
		return ReasonBlendshapes
	}
	if len(f.Appearance) > 0 && (!allSane(f.Appearance) || norm(f.Appearance) < 1e-6) {
		return ReasonAppearance
	}
	return ""
}

// sane is false for NaN, infinities and absurd magnitudes.
func sane(v float64) bool { return math.Abs(v) <= absurdPixels }

func allSane(values []float64) bool {
	for _, v := range values {
		if !sane(v) {
			return false
		}
	}
	return true
}
