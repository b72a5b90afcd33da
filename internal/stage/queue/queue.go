// Package queue holds the frames that wait for a worker of a stage.
package queue

import (
	"context"
	"sync"
)

// Fair is a set of first-in-first-out lines, one a camera, served in turn so that no camera starves another.
// When a line is full its oldest item makes room: a tracker that runs late is of no use to anybody.
type Fair[T any] struct {
	limit int

	mu    sync.Mutex
	lines map[string][]T
	turn  []string // cameras with waiting items, in the order in which they are served
	ready chan struct{}
}

// New returns lines of at most limit items each.
func New[T any](limit int) *Fair[T] {
	return &Fair[T]{limit: limit, lines: map[string][]T{}, ready: make(chan struct{}, 1)}
}

// Push adds an item and returns the one that had to make room, if any.
func (q *Fair[T]) Push(camera string, item T) (evicted T, dropped bool) {
	q.mu.Lock()
	line := q.lines[camera]
	if len(line) == 0 {
		q.turn = append(q.turn, camera)
	}
	if len(line) >= q.limit {
		evicted, dropped = line[0], true
		line = line[1:]
	}
	q.lines[camera] = append(line, item)
	q.mu.Unlock()
	select {
	case q.ready <- struct{}{}:
	default:
	}
	return evicted, dropped
}

// Pop waits for the next item; false when ctx is done.
func (q *Fair[T]) Pop(ctx context.Context) (item T, ok bool) {
	for {
		if item, ok = q.take(); ok {
			return item, true
		}
		select {
		case <-ctx.Done():
			return item, false
		case <-q.ready:
		}
	}
}

func (q *Fair[T]) take() (item T, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.turn) == 0 {
		return item, false
	}
	camera := q.turn[0]
	q.turn = q.turn[1:]
	line := q.lines[camera]
	item = line[0]
	if len(line) > 1 {
		q.lines[camera] = line[1:]
		q.turn = append(q.turn, camera)
	} else {
		delete(q.lines, camera)
	}
	return item, true
}
