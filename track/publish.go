package track

import (
	"slices"
	"sort"
)

// publish fills the result with the people seen on this frame and the changes since the last one.
func (t *Tracker) publish(obs Observation, seen []*candidate, result *Result) {
	camera := Camera{Width: obs.Width, Height: obs.Height, HFOVDegrees: t.options.HFOVDegrees}
	shown := make(map[*candidate]bool, len(seen))
	for _, p := range t.people {
		c := p.now
		p.now = nil
		if p.id > 0 && c != nil {
			shown[c] = true
			result.Faces = append(result.Faces, t.measure(p, c, camera))
		}
		t.change(p, p.id > 0 && c != nil, result)
	}
	for _, c := range seen {
		if !shown[c] {
			result.Tentative = append(result.Tentative, c.index)
		}
	}
	sort.Slice(result.Faces, func(a, b int) bool { return result.Faces[a].ID < result.Faces[b].ID })
	for _, list := range [][]int{result.Born, result.Recovered, result.Lost, result.Tentative} {
		slices.Sort(list)
	}
}

// change records whether p came, came back, or went.
func (t *Tracker) change(p *person, visible bool, result *Result) {
	switch {
	case visible && !p.visible && !p.published:
		result.Born = append(result.Born, p.id)
	case visible && !p.visible:
		result.Recovered = append(result.Recovered, p.id)
	case !visible && p.visible:
		result.Lost = append(result.Lost, p.id)
	}
	p.visible = visible
	p.published = p.published || visible
}

// measure fits the pose, tells the gaze and smooths everything that is measured on p.
func (t *Tracker) measure(p *person, c *candidate, camera Camera) Tracked {
	face := c.face
	out := Tracked{ID: p.id, Index: c.index, Presence: face.Presence, Raw: *face}
	var start *Pose
	if p.posed {
		start = &p.pose
	}
	pose, err := t.options.Pose.Solve(face.Points, camera, start)
	p.posed = err == nil
	if p.posed {
		p.pose, out.RawPose, out.HasPose = pose, pose, true
	}
	if p.posed && t.options.Gaze != nil {
		out.RawGaze, err = t.options.Gaze.Solve(face.Points, camera, pose)
		out.HasGaze = err == nil
	}
	p.smooth.apply(&out, c, &t.clock, &t.options.Smoothing)
	return out
}
