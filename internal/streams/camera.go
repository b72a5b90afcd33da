package streams

import (
	"errors"
	"fmt"
	"slices"

	"facetrack/internal/config"
	"facetrack/ipc"
	"facetrack/lsl"
	"facetrack/topology"
)

// camera has the participants that are looked for in its frames.
type camera struct {
	set    *Set
	cfg    config.Camera
	points *topology.Topology // of its faces
	named  bool               // by the configuration: nobody else gets streams
	people []*person
	full   bool // it was said that somebody gets no streams

	size   [2]int
	lastNS int64 // when the picture of the last frame was taken
	cameNS int64 // when that frame came
	gapNS  int64 // how long after the one before
	last   uint64
	lost   bool
}

// camera returns that of a frame; with its first frame the streams of its participants open.
func (s *Set) camera(t *ipc.Tracks) (*camera, error) {
	if c := s.cameras[t.Camera]; c != nil {
		return c, nil
	}
	c := &camera{set: s, cfg: s.cfg.CameraNamed(t.Camera), size: [2]int{t.Width, t.Height}}
	s.cameras[t.Camera] = c
	people := s.cfg.ParticipantsOf(t.Camera)
	c.named = len(people) > 0
	for id := 1; id <= s.cfg.LSL.Slots && !c.named; id++ {
		people = append(people, c.slot(id))
	}
	var errs []error
	var ok bool
	if c.points, ok = topology.Named(t.Topology); !ok {
		c.points = topology.MediaPipe
		errs = append(errs, fmt.Errorf("unknown set of points %q: streams are made for %s", t.Topology, c.points.Name))
	}
	for _, p := range people {
		errs = append(errs, c.add(p))
	}
	return c, errors.Join(errs...)
}

func (c *camera) slot(id int) config.Participant {
	return config.Participant{Camera: c.cfg.Name, Identity: id, InterocularMM: config.InterocularMM}
}

// admit opens streams for who is seen for the first time in a camera that names nobody.
func (c *camera) admit(t *ipc.Tracks) error {
	if c.named {
		return nil
	}
	for i := range t.Faces {
		id := t.Faces[i].ID
		if c.has(id) {
			continue
		}
		if len(c.people) >= c.set.cfg.LSL.MaxSlots {
			if !c.full {
				c.full = true
				c.set.log.Warn("somebody gets no streams: lsl.max_slots is reached", "camera", c.cfg.Name, "identity", id, "max_slots", c.set.cfg.LSL.MaxSlots)
			}
			return fmt.Errorf("identity %d of camera %s: %w", id, c.cfg.Name, ErrTooMany)
		}
		if err := c.add(c.slot(id)); err != nil {
			return err
		}
	}
	return nil
}

func (c *camera) has(id int) bool {
	return slices.ContainsFunc(c.people, func(p *person) bool { return p.who.Identity == id })
}

func (c *camera) rows(t *ipc.Tracks) error {
	taken := c.taken(&t.Frame)
	errs := []error{c.back(t.Seq, taken), c.resized(t, taken)}
	if c.cameNS > 0 {
		c.gapNS = t.CaptureNS - c.cameNS
	}
	c.lastNS, c.cameNS, c.last = taken, t.CaptureNS, t.Seq
	for _, p := range c.people {
		face := ipc.FindParticipant(t.Faces, p.who.Name, p.who.Identity)
		errs = append(errs, p.row(lsl.Seconds(taken), t.Seq, face), p.attend(t.Seq, taken, face != nil))
	}
	errs = append(errs, c.ended(t.Seq))
	return errors.Join(errs...)
}
