package streams

import (
	"slices"

	"facetrack/ipc"
)

// mediaClock gives recordings that are read as fast as possible a place on CLOCK_MONOTONIC: that of the first frame of any. When their frames
// were read says nothing about when they were taken.
type mediaClock struct {
	known  bool
	offset int64 // of CLOCK_MONOTONIC to the time within the recordings
}

func (m *mediaClock) at(f *ipc.Frame) int64 {
	if !m.known {
		m.known, m.offset = true, f.CaptureNS-f.MediaNS
	}
	return m.offset + f.MediaNS
}

// taken is when a frame's picture was taken.
func (c *camera) taken(f *ipc.Frame) int64 {
	if c.cfg.Pace == "max" && f.MediaNS != 0 {
		return c.cfg.AcquiredNS(c.set.media.at(f))
	}
	return c.cfg.AcquiredNS(f.CaptureNS)
}

// endOf is when the window of a synchrony ends.
func (s *Set) endOf(m *ipc.Synchrony) int64 {
	if s.media.known && slices.ContainsFunc([]string{m.A, m.B}, s.offline) {
		return s.media.offset + m.ToNS
	}
	return m.CaptureNS
}

// offline tells whether a participant is in a recording that is read as fast as possible.
func (s *Set) offline(who string) bool {
	camera, _, _ := s.cfg.PlaceOf(who)
	return s.cfg.CameraNamed(camera).Pace == "max"
}
