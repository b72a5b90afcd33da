package workers

import "sync"

// Turn has one batch at a time run on a worker's networks, under the eyes of its GPU's Health.
type Turn struct {
	Health *Health

	mu sync.Mutex
}

// Take runs a batch.
func (t *Turn) Take(batch func() error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	ended := t.Health.Begin()
	err := batch()
	ended(err)
	return err
}
