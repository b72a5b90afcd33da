package hosts

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"facetrack/ipc"
)

const (
	absentNS      = 1_000_000_000     // who was not seen for so long is not there
	forgetNS      = 60_000_000_000    // … and without name, forgotten
	forgetNamedNS = 3_600_000_000_000 // … or with one: other hosts give as many as they like
	maxPeople     = 1024              // known at once
)

// people are those that were seen, here or on other hosts.
type people struct {
	mu  sync.Mutex
	all map[string]*person
}

type person struct {
	named  bool
	places map[string]*ipc.SeenAt // by host and camera
}

func newPeople() *people { return &people{all: map[string]*person{}} }

// saw notes the faces of a frame; rig is empty for the hub's own cameras. A name that several hosts use is one person.
func (p *people) saw(own, rig string, t *ipc.Tracks, wrong int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	camera := t.Camera
	if rig != "" {
		camera = ipc.Place(rig, t.Camera)
	}
	for i := range t.Faces {
		f := &t.Faces[i]
		name := cmp.Or(f.Participant, ipc.Participant(camera, f.ID))
		who := p.all[name]
		if who == nil {
			if len(p.all) >= maxPeople {
				continue
			}
			who = &person{named: f.Participant != "", places: map[string]*ipc.SeenAt{}}
			p.all[name] = who
		}
		who.places[camera] = &ipc.SeenAt{Rig: cmp.Or(rig, own), Camera: t.Camera, ID: f.ID, CaptureNS: t.CaptureNS, ErrorNS: wrong}
	}
}

// now lists everybody, and forgets who is not to be listed any more.
func (p *people) now(at int64) []ipc.PersonSeen {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := []ipc.PersonSeen{}
	for _, name := range slices.Sorted(maps.Keys(p.all)) {
		who := p.all[name]
		latest := who.latest()
		if away := at - latest.CaptureNS; away > forgetNamedNS || !who.named && away > forgetNS {
			delete(p.all, name)
			continue
		}
		maps.DeleteFunc(who.places, func(_ string, s *ipc.SeenAt) bool { return s != latest && at-s.CaptureNS > absentNS })
		seen := ipc.PersonSeen{Name: name, Present: at-latest.CaptureNS <= absentNS}
		for _, place := range slices.Sorted(maps.Keys(who.places)) {
			seen.Places = append(seen.Places, *who.places[place])
		}
		out = append(out, seen)
	}
	return out
}

// latest is where somebody was seen last.
func (p *person) latest() *ipc.SeenAt {
	return slices.MaxFunc(slices.Collect(maps.Values(p.places)), func(a, b *ipc.SeenAt) int { return cmp.Compare(a.CaptureNS, b.CaptureNS) })
}
