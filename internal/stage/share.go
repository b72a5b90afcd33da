package stage

import (
	"errors"
	"io"
	"sync"
)

// Share is the cameras of one of several processes of a stage. A nil one is that of an only process, whose all cameras are.
type Share struct {
	claim func(camera string) (io.Closer, error)
	mu    sync.RWMutex
	held  map[string]io.Closer
}

// NewShare is a share without cameras. claim keeps other processes away from one until it is closed; nil: nobody else wants it.
func NewShare(claim func(camera string) (io.Closer, error)) *Share {
	if claim == nil {
		claim = func(string) (io.Closer, error) { return io.NopCloser(nil), nil }
	}
	return &Share{claim: claim, held: map[string]io.Closer{}}
}

// Has tells whether a camera is this process's.
func (s *Share) Has(camera string) bool {
	if s == nil {
		return true
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.held[camera] != nil
}

// Take adds cameras, all or none. Those that the share has already stay.
func (s *Share) Take(cameras ...string) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := map[string]io.Closer{}
	for _, name := range cameras {
		if s.held[name] != nil {
			continue
		}
		c, err := s.claim(name)
		if err != nil {
			for _, c := range taken {
				err = errors.Join(err, c.Close())
			}
			return err
		}
		taken[name] = c
	}
	for name, c := range taken {
		s.held[name] = c
	}
	return nil
}

// Give leaves a camera to others.
func (s *Share) Give(camera string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.held[camera]; c != nil {
		_ = c.Close() // a socket that nobody has connected to
		delete(s.held, camera)
	}
}

// Close leaves all cameras to others.
func (s *Share) Close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for name, c := range s.held {
		errs = append(errs, c.Close())
		delete(s.held, name)
	}
	return errors.Join(errs...)
}
