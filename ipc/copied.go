package ipc

import (
	"sync"

	"facetrack/gpuring"
)

// copied is a lease on the link's own copy of a frame: nothing can take it away.
type copied struct {
	fetcher *fetcher
	mu      sync.Mutex
	buf     *[]byte // nil once released
}

func (c *copied) View() gpuring.View {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.buf == nil {
		return gpuring.View{}
	}
	return gpuring.View{Host: *c.buf}
}

// Host implements [Lease].
func (c *copied) Host() ([]byte, error) { return c.View().Host, c.Valid() }

func (c *copied) Valid() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.buf == nil {
		return gpuring.ErrReleased
	}
	return nil
}

func (c *copied) Release() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.buf != nil {
		c.fetcher.buffers.Put(c.buf)
		c.buf = nil
	}
	return nil
}
