package ipc

import (
	"sync"
	"time"
)

const (
	sayAgain  = 10 * time.Second
	differing = 256 // texts that are remembered
)

// seldom keeps what happens with every frame from being said with every frame.
type seldom struct {
	mu   sync.Mutex
	said map[string]time.Time
}

// now tells whether a text is to be said: it is new, or was said long ago.
func (s *seldom) now(text string, at time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, known := s.said[text]; known && at.Sub(last) < sayAgain {
		return false
	}
	if s.said == nil || len(s.said) >= differing {
		s.said = map[string]time.Time{}
	}
	s.said[text] = at
	return true
}
