package detect

import "sync"

// schedule says which frames of a camera are looked at. It is safe for concurrent use.
type schedule struct {
	every uint64

	mu   sync.Mutex
	next map[string]uint64 // first sequence number that is due
}

func newSchedule(every int) *schedule {
	return &schedule{every: uint64(max(1, every)), next: map[string]uint64{}} //nolint:gosec // at least 1
}

// due tells whether a frame is to be looked at, and if so when the next one is.
func (s *schedule) due(camera string, seq uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.next[camera]
	if seq < next && next-seq <= s.every { // further back: the camera's numbers began anew
		return false
	}
	s.next[camera] = seq + s.every
	return true
}

// lost makes the camera's next frame due.
func (s *schedule) lost(camera string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next[camera] = 0
}
