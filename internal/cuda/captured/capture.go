package captured

import (
	"errors"

	"facetrack/internal/cuda"
)

// enter keeps Close waiting until done; false when the Set is closed.
func (s *Set) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.done.Add(1)
	return true
}

// of is the graph of a size, nil as long as there is none: the first call has it captured.
func (s *Set) of(n int) *cuda.Graph {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, known := s.graphs[n]
	if known || s.closed {
		return g
	}
	s.graphs[n] = nil
	s.queue = append(s.queue, n)
	if !s.busy {
		s.busy = true
		s.done.Add(1)
		go s.work()
	}
	return nil
}

// work captures until nothing is left to do.
func (s *Set) work() {
	defer s.done.Done()
	for {
		n, ok := s.next()
		if !ok {
			return
		}
		if err := s.make(n); err != nil {
			s.log.Warn("no CUDA graph for this batch size: its kernels are launched one by one", "batch", n, "error", err)
		}
	}
}

func (s *Set) next() (n int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 || s.closed {
		s.busy = false
		return 0, false
	}
	n, s.queue = s.queue[0], s.queue[1:]
	return n, true
}

// make captures a size unless that was done.
func (s *Set) make(n int) error {
	s.capturing.Lock()
	defer s.capturing.Unlock()
	if s.Ready(n) {
		return nil
	}
	g, err := s.capture(n)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.graphs[n] = g
	return nil
}

func (s *Set) capture(n int) (*cuda.Graph, error) {
	if err := s.stream.BeginCapture(); err != nil {
		return nil, err
	}
	failed := s.launch(s.stream, n)
	g, err := s.stream.EndCapture() // also after a failure: the stream must not stay in capture
	if failed != nil {
		return nil, errors.Join(failed, g.Close())
	}
	return g, err
}
