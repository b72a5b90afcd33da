package streams

import (
	"encoding/json"
	"errors"
	"fmt"

	"facetrack/ipc"
	"facetrack/lsl"
)

const (
	lostAfterNS   = 1_000_000_000 // without a participant
	silentAfterNS = 2_000_000_000 // without a frame
	slowCameras   = 3             // or so many times the distance of the last two
)

// marker is the text of an event.
type marker struct {
	Event       string  `json:"event"`
	Participant string  `json:"participant,omitempty"`
	Camera      string  `json:"camera"`
	Frame       *uint64 `json:"frame,omitempty"`
	Stage       string  `json:"stage,omitempty"`
	Transport   *string `json:"transport,omitempty"`
	Width       int     `json:"width,omitempty"`
	Height      int     `json:"height,omitempty"`
	Reason      string  `json:"reason,omitempty"`
}

func (s *Set) eventsInfo() lsl.StreamInfo {
	return lsl.StreamInfo{
		Name: fmt.Sprintf("facetrack %s events", s.cfg.Rig), Type: "Markers", ChannelCount: 1, Format: lsl.String,
		SourceID: "events",
		Desc:     lsl.Desc{Channels: []lsl.Channel{{Label: "event", Type: "Event", Unit: "JSON"}}, Acquisition: &lsl.Acquisition{Manufacturer: "facetrack"}},
	}
}

// mark sends an event, stamped with the instant at which it happened.
func (s *Set) mark(ns int64, m marker) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return s.events.PushString(lsl.Seconds(ns), string(text))
}

// attend notes whether the participant is in a frame.
func (p *person) attend(seq uint64, taken int64, here bool) error {
	switch {
	case here && !p.present:
		p.present, p.missedNS = true, 0
		return p.camera.set.mark(taken, p.marker("participant_appears", seq))
	case here:
		p.missedNS = 0
	case p.present && p.missedNS == 0:
		p.missedNS, p.missed = taken, seq
	case p.present && taken-p.missedNS >= lostAfterNS:
		return p.lose("")
	}
	return nil
}

// lose tells that the participant is lost, since the first frame without them or, if there was none, the camera's last.
func (p *person) lose(reason string) error {
	since, seq := p.missedNS, p.missed
	if since == 0 {
		since, seq = p.camera.lastNS, p.camera.last
	}
	p.present, p.missedNS = false, 0
	m := p.marker("participant_lost", seq)
	m.Reason = reason
	return p.camera.set.mark(since, m)
}

func (p *person) marker(event string, seq uint64) marker {
	return marker{Event: event, Participant: p.key(), Camera: p.camera.cfg.Name, Frame: &seq}
}

// back tells that a camera gives frames again.
func (c *camera) back(seq uint64, taken int64) error {
	if !c.lost {
		return nil
	}
	c.lost, c.cameNS = false, 0 // the outage is no distance of frames
	return c.set.mark(taken, marker{Event: "camera_back", Camera: c.cfg.Name, Frame: &seq})
}

// resized tells that frames have another size than the descriptions of the streams say.
func (c *camera) resized(t *ipc.Tracks, taken int64) error {
	size := [2]int{t.Width, t.Height}
	if size == c.size {
		return nil
	}
	c.size = size
	return c.set.mark(taken, marker{Event: "resolution", Camera: c.cfg.Name, Frame: &t.Seq, Width: t.Width, Height: t.Height})
}

// ended tells that a camera is lost if the frame was the last that capture has announced.
func (c *camera) ended(seq uint64) error {
	e, ok := c.set.ends[c.cfg.Name]
	if !ok || seq < e.LastSeq {
		return nil
	}
	delete(c.set.ends, c.cfg.Name)
	if seq > e.LastSeq { // it goes on
		return nil
	}
	return c.lose(e.Reason)
}

func (c *camera) lose(reason string) error {
	if c.lost {
		return nil
	}
	c.lost = true
	last := c.last
	errs := []error{c.set.mark(c.lastNS, marker{Event: "camera_lost", Camera: c.cfg.Name, Frame: &last, Reason: reason})}
	for _, p := range c.people {
		if p.present {
			errs = append(errs, p.lose("camera_lost"))
		}
	}
	return errors.Join(errs...)
}

// End tells that a camera gives no more frames after its last, which may be on its way yet.
func (s *Set) End(e *ipc.End) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cameras[e.Camera]
	switch {
	case c != nil && (c.last >= e.LastSeq || e.Reason == ipc.EndWithoutFrames):
		return c.lose(e.Reason)
	case e.Reason != ipc.EndWithoutFrames:
		s.ends[e.Camera] = *e
	}
	return nil
}

// Silent looks for cameras that stand still; now is CLOCK_MONOTONIC, ns. It is to be called several times a second.
func (s *Set) Silent(now int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for name, c := range s.cameras {
		if now-c.cameNS < max(silentAfterNS, slowCameras*c.gapNS) {
			continue
		}
		reason := "silent"
		if e, ok := s.ends[name]; ok { // its last frame was dropped
			reason = e.Reason
			delete(s.ends, name)
		}
		errs = append(errs, c.lose(reason))
	}
	return errors.Join(errs...)
}

// Event passes on what a stage tells of a camera.
func (s *Set) Event(e *ipc.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := marker{Event: e.Event, Camera: e.Camera, Stage: e.Stage, Reason: e.Reason}
	if e.Event == ipc.EventTransport {
		m.Transport = &e.Value
	}
	return s.mark(e.TimeNS, m)
}
