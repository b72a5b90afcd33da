package top

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"facetrack/internal/stage"
	"facetrack/internal/telemetry"
	"facetrack/ipc"
)

// unknown is a rate that cannot be told yet.
const unknown = -1

// Message is something that happened.
type Message struct {
	At   time.Time
	Text string
	Bad  bool
}

// memory is how many messages are kept.
const memory = 50

// Model is what is known of a rig.
type Model struct {
	Rig, URL string

	at       time.Time // of the last sample
	away     string
	procs    []*process        // in the order of the data flow
	messages []Message         // newest last
	heard    bool              // a process has answered
	ways     map[string]string // how pixels come to a stage, by camera and stage
}

// process is one process of a rig with its rates since the sample before.
type process struct {
	telemetry.Stats
	missing time.Time // since when it does not answer; zero while it does
	cpu     float64   // percent of one CPU
	cameras map[string]rates
}

// rates of a camera in a process, a second.
type rates struct{ frames, faces, dropped float64 }

// New returns the model of a rig of which nothing is known yet.
func New(rig, url string) *Model { return &Model{Rig: rig, URL: url, ways: map[string]string{}} }

func (m *Model) note(at time.Time, bad bool, format string, args ...any) {
	m.messages = append(m.messages, Message{At: at, Text: oneLine(fmt.Sprintf(format, args...)), Bad: bad})
	m.messages = m.messages[max(0, len(m.messages)-memory):]
}

// Update takes what the rig said next.
func (m *Model) Update(s Sample) {
	m.at = s.At
	if s.Away != "" {
		if m.away == "" {
			m.note(s.At, true, "%s", s.Away)
		}
		m.away = s.Away
		return
	}
	if m.away != "" {
		m.note(s.At, false, "the NATS server is there")
		m.away = ""
	}
	before := m.procs
	m.procs = nil
	for _, st := range s.Stats {
		m.procs = append(m.procs, m.renew(find(before, st), st, s.At))
	}
	for _, old := range before {
		if find(m.procs, old.Stats) == nil {
			m.lost(old, before, s.At)
		}
	}
	slices.SortStableFunc(m.procs, func(a, b *process) int {
		return cmp.Or(slices.Index(stage.Names, a.Stage)-slices.Index(stage.Names, b.Stage), a.PID-b.PID)
	})
	m.heard = m.heard || len(s.Stats) > 0
	m.learnWays()
}

// learnWays notes how pixels came before the first event about it.
func (m *Model) learnWays() {
	for _, p := range m.procs {
		for name, c := range p.Cameras {
			key := name + " " + p.Stage
			if _, known := m.ways[key]; c.Link != nil && !known {
				m.ways[key] = c.Link.Transport
			}
		}
	}
}

// find looks for the same process, not for another one of the same stage.
func find(all []*process, s telemetry.Stats) *process {
	for _, p := range all {
		if p.Stage == s.Stage && p.PID == s.PID {
			return p
		}
	}
	return nil
}

// lost keeps a process that does not answer, unless another one has taken its place.
func (m *Model) lost(old *process, before []*process, at time.Time) {
	for _, p := range m.procs {
		if p.Stage == old.Stage && find(before, p.Stats) == nil {
			m.note(at, true, "%s was started again: process %d instead of %d", old.Stage, p.PID, old.PID)
			return
		}
	}
	if old.missing.IsZero() {
		old.missing = at
		m.note(at, true, "%s (process %d) does not answer", old.Stage, old.PID)
	}
	old.cpu, old.cameras = unknown, nil
	m.procs = append(m.procs, old)
}

// renew is a process with what it says now.
func (m *Model) renew(old *process, now telemetry.Stats, at time.Time) *process {
	p := &process{Stats: now, cpu: unknown, cameras: map[string]rates{}}
	if old == nil {
		return p
	}
	if !old.missing.IsZero() {
		m.note(at, false, "%s (process %d) answers again", now.Stage, now.PID)
	}
	seconds := now.UptimeS - old.UptimeS
	if seconds <= 0 {
		p.cpu, p.cameras = old.cpu, old.cameras
		return p
	}
	p.cpu = 100 * (now.CPUSeconds - old.CPUSeconds) / seconds
	for _, name := range slices.Sorted(maps.Keys(now.Cameras)) {
		c := now.Cameras[name]
		b, known := old.Cameras[name]
		if !known {
			continue
		}
		r := rates{
			frames: float64(c.Frames-b.Frames) / seconds, faces: float64(c.Faces-b.Faces) / seconds,
			dropped: float64(total(c.Dropped)-total(b.Dropped)) / seconds,
		}
		if r.dropped > 0 && old.cameras[name].dropped == 0 {
			m.note(at, true, "%s: %s drops frames: %s", name, now.Stage, grown(c.Dropped, b.Dropped))
		}
		if c.State != b.State && b.State != "" {
			m.note(at, c.State != "running", "%s: %s", name, c.State)
		}
		p.cameras[name] = r
	}
	return p
}

// grown names the reason that counts most since before.
func grown(now, before map[string]uint64) string {
	best := ""
	for _, reason := range slices.Sorted(maps.Keys(now)) {
		if now[reason]-before[reason] > now[best]-before[best] {
			best = reason
		}
	}
	return best
}

// Hear takes what a process announced. A process that was started again and gets its pixels as before is no news.
func (m *Model) Hear(e ipc.Event, at time.Time) {
	key := e.Camera + " " + e.Stage
	switch {
	case e.Event != ipc.EventTransport:
		m.note(at, false, "%s: %s: %s %s: %s", e.Camera, e.Stage, e.Event, e.Value, e.Reason)
		return
	case e.Value == m.ways[key] && e.Value != "":
	case e.Value == "":
		m.note(at, true, "%s: no pixels reach %s: %s", e.Camera, e.Stage, e.Reason)
	default:
		slower := e.Value != string(ipc.CUDAIPC) && e.Value != string(ipc.CUDA)
		m.note(at, slower, "%s: %s reads by %s: %s", e.Camera, e.Stage, e.Value, e.Reason)
	}
	m.ways[key] = e.Value
}

func total(dropped map[string]uint64) (n uint64) {
	for _, v := range dropped {
		n += v
	}
	return n
}
