package queue

import (
	"context"
	"sync"
)

// Pool spreads cameras over workers. Frames of one camera always go to the same worker, in order.
type Pool[T any] struct {
	lines []*Fair[T]

	mu     sync.Mutex
	worker map[string]int
}

// NewPool returns a pool of n workers that lets at most limit items of a camera wait.
func NewPool[T any](n, limit int) *Pool[T] {
	p := &Pool[T]{worker: map[string]int{}}
	for range max(1, n) {
		p.lines = append(p.lines, New[T](limit))
	}
	return p
}

// Push adds an item and returns the one that had to make room, if any.
func (p *Pool[T]) Push(camera string, item T) (evicted T, dropped bool) {
	p.mu.Lock()
	w, ok := p.worker[camera]
	if !ok {
		w = len(p.worker) % len(p.lines)
		p.worker[camera] = w
	}
	p.mu.Unlock()
	return p.lines[w].Push(camera, item)
}

// Workers is how many times Run wants to be called.
func (p *Pool[T]) Workers() int { return len(p.lines) }

// Run handles the items of worker w until ctx is done.
func (p *Pool[T]) Run(ctx context.Context, w int, handle func(T)) {
	for {
		item, ok := p.lines[w].Pop(ctx)
		if !ok {
			return
		}
		handle(item)
	}
}
