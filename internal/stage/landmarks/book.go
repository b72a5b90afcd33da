package landmarks

import "sync"

// book holds the regions of every camera. Those of one camera are touched by one worker at a time: queue.Batches sees to it.
type book struct {
	mu      sync.Mutex
	cameras map[string]*regions
}

func newBook() *book { return &book{cameras: map[string]*regions{}} }

// of returns the regions of a camera; the first time they are new.
func (b *book) of(camera string) (r *regions, first bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r = b.cameras[camera]; r == nil {
		r, first = &regions{}, true
		b.cameras[camera] = r
	}
	return r, first
}

// forget gives up the regions of a camera.
func (b *book) forget(camera string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.cameras, camera)
}
