// Package captured launches the same sequence of work again and again as CUDA graphs, one for each size that it comes in.
package captured

import (
	"errors"
	"log/slog"
	"sync"

	"facetrack/internal/cuda"
)

// Set is the graphs of one sequence, by size: a batch, say. A size that is asked for the first time is captured on a stream of
// the Set's own, in the background, so that nobody waits for it. The methods may be called from several goroutines.
type Set struct {
	stream *cuda.Stream
	launch func(stream *cuda.Stream, n int) error
	log    *slog.Logger

	capturing sync.Mutex // held by who uses stream

	mu     sync.Mutex
	graphs map[int]*cuda.Graph // nil while it is to be captured, and when that failed
	queue  []int               // to be captured
	busy   bool                // a goroutine captures
	closed bool
	done   sync.WaitGroup
}

// New makes a Set of what launch queues in a stream for a size. It is called for one size from several goroutines at once, must queue the
// same every time, at the same addresses, and must not wait for the stream.
func New(ctx *cuda.Context, launch func(stream *cuda.Stream, n int) error, log *slog.Logger) (*Set, error) {
	stream, err := ctx.NewStream()
	if err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.Default()
	}
	return &Set{stream: stream, launch: launch, log: log, graphs: map[int]*cuda.Graph{}}, nil
}

// Launch queues the work of a size: as one graph once it is there, plainly until then.
func (s *Set) Launch(stream *cuda.Stream, n int) error {
	if g := s.of(n); g != nil {
		return g.Launch(stream)
	}
	return s.launch(stream, n)
}

// Ready tells whether the graph of a size is there.
func (s *Set) Ready(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.graphs[n] != nil
}

// Capture returns when the graph of a size is there.
func (s *Set) Capture(n int) error {
	if !s.enter() {
		return cuda.ErrClosed
	}
	defer s.done.Done()
	return s.make(n)
}

// Close ends the capture under way and frees all graphs; no launch of them may be running. It may be called again.
func (s *Set) Close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.done.Wait()
	var all []error
	for _, g := range s.graphs {
		all = append(all, g.Close())
	}
	return errors.Join(append(all, s.stream.Close())...)
}
