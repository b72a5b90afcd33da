package top

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"facetrack/internal/latency"
	"facetrack/internal/stage"
	"facetrack/internal/telemetry"
)

// camera is one camera as all stages together see it.
type camera struct {
	name    string
	state   string
	in, out float64 // frames a second: captured, tracked
	faces   float64 // in a frame
	age     latency.Percentiles
	dropped uint64 // by all stages up to the tracker
	losing  bool   // frames were dropped since the sample before
	reasons []count
	links   []link
}

// count is how many frames were dropped where and why.
type count struct {
	why string // as "detect queue-full"
	n   uint64
}

type link struct {
	stage string
	telemetry.Link
}

func (m *Model) cameras(by order) []*camera {
	all := map[string]*camera{}
	for _, p := range m.procs {
		for name, c := range p.Cameras {
			if all[name] == nil {
				all[name] = &camera{name: name, in: unknown, out: unknown, faces: unknown}
			}
			all[name].add(p, c)
		}
	}
	out := slices.Collect(maps.Values(all))
	for _, c := range out {
		slices.SortStableFunc(c.reasons, func(a, b count) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.why, b.why)) })
	}
	slices.SortFunc(out, func(a, b *camera) int { return cmp.Or(by.compare(a, b), cmp.Compare(a.name, b.name)) })
	return out
}

// add takes what one process says of the camera.
func (c *camera) add(p *process, s telemetry.CameraStats) {
	now, known := p.cameras[c.name]
	switch p.Stage {
	case stage.Capture:
		c.state = s.State
		if known {
			c.in = now.frames
		}
	case stage.Tracker:
		c.age = s.Recent
		if known {
			c.out = now.frames
		}
		if now.frames > 0 {
			c.faces = now.faces / now.frames
		}
	case stage.LSLOut: // what it drops was tracked
		return
	}
	if s.Link != nil {
		c.links = append(c.links, link{p.Stage, *s.Link})
	}
	c.losing = c.losing || now.dropped > 0
	for reason, n := range s.Dropped {
		c.dropped += n
		c.reasons = append(c.reasons, count{p.Stage + " " + reason, n})
	}
}

// transports is as "shm", "shm!" where a faster one was tried first, or "cuda-ipc/shm!" where stages differ.
func (c *camera) transports() string {
	var short []string
	for _, l := range c.links {
		text := cmp.Or(l.Transport, "none")
		if l.fallback() {
			text += "!"
		}
		if !slices.Contains(short, text) {
			short = append(short, text)
		}
	}
	return cmp.Or(strings.Join(short, "/"), "-")
}

func (l link) fallback() bool { return l.Transport == "" || len(l.Attempts) > 0 }

func (c *camera) fallback() bool { return slices.ContainsFunc(c.links, link.fallback) }

// stateWord is the state without its reason.
func (c *camera) stateWord() string {
	word, _, _ := strings.Cut(c.state, ":")
	return cmp.Or(word, "?")
}

func (c *camera) running() bool { return strings.HasPrefix(c.state, "running") }

func (c *camera) mainReason() string {
	if len(c.reasons) == 0 {
		return "-"
	}
	return c.reasons[0].why
}

// detail is all about the camera that its row has no room for.
func (c *camera) detail() []string {
	lines := []string{c.name + ": " + cmp.Or(c.state, "capture does not tell of it")}
	for i, l := range c.links {
		who := l.stage
		if i+1 < len(c.links) && c.links[i+1].String() == l.String() {
			who, c.links[i+1].stage = "", who+" and "+c.links[i+1].stage
		}
		if who != "" {
			lines = append(lines, who+": "+l.String())
		}
	}
	if len(c.reasons) > 0 {
		var text []string
		for _, r := range c.reasons {
			text = append(text, fmt.Sprintf("%s %d", r.why, r.n))
		}
		lines = append(lines, "dropped: "+strings.Join(text, ", "))
	}
	return lines
}

// order is what cameras are sorted by.
type order int

const (
	byName order = iota
	byDrops
	byLatency
	byRate
	orders
)

func (o order) String() string { return [...]string{"name", "dropped", "latency", "frames/s"}[o] }

// compare puts the camera first that needs attention: most drops, slowest, fewest frames.
func (o order) compare(a, b *camera) int {
	switch o {
	case byDrops:
		return cmp.Compare(b.dropped, a.dropped)
	case byLatency:
		return cmp.Compare(b.age.P99, a.age.P99)
	case byRate:
		return cmp.Compare(a.out, b.out)
	}
	return 0
}
