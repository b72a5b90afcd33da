package gpuvision

import "sync"

// counted is something that several use, and that ends with the last of them.
type counted struct {
	mu    sync.Mutex
	users int
	end   func() error
}

// use begins a use; leave ends it, once however often it is called.
func (c *counted) use() (leave func() error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users++
	return sync.OnceValue(c.leave)
}

func (c *counted) leave() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users--; c.users > 0 {
		return nil
	}
	return c.end()
}
