package detect

import (
	"sync"

	"facetrack/ipc"
)

// schedule says which frames of a camera are looked at. It is safe for concurrent use.
type schedule struct {
	every uint64

	mu     sync.Mutex
	next   map[string]uint64 // first sequence number that is due
	lastNS map[string]int64  // time of the last frame, see ipc.Frame.TimeNS
}

func newSchedule(every int) *schedule {
	every = max(1, every)
	return &schedule{every: uint64(every), next: map[string]uint64{}, lastNS: map[string]int64{}} //nolint:gosec // at least 1
}

// turn tells whether a frame is to be looked at: when it is due, or when its camera's faces cannot have been
// followed from the frame before.
func (s *schedule) turn(f *ipc.Frame) bool {
	s.mu.Lock()
	if f.TimeNS()-s.lastNS[f.Camera] > ipc.FollowNS {
		s.next[f.Camera] = 0
	}
	s.lastNS[f.Camera] = f.TimeNS()
	s.mu.Unlock()
	return s.due(f.Camera, f.Seq)
}

// due tells whether a sequence number is to be looked at, and if so when the next one is.
func (s *schedule) due(camera string, seq uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isDue(camera, seq) {
		return false
	}
	s.next[camera] = seq + s.every
	return true
}

func (s *schedule) isDue(camera string, seq uint64) bool {
	next := s.next[camera]
	return seq >= next || next-seq > s.every // further back: the camera's numbers began anew
}

// idle tells whether a frame will, as things stand, only be passed on.
func (s *schedule) idle(f ipc.Frame) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f.TimeNS()-s.lastNS[f.Camera] <= ipc.FollowNS && !s.isDue(f.Camera, f.Seq)
}

// lost makes the camera's next frame due.
func (s *schedule) lost(camera string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next[camera] = 0
}
