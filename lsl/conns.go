package lsl

import (
	"net"
	"sync"
)

// connections are the TCP connections being served, at most limit of them.
type connections struct {
	limit int

	mu     sync.Mutex
	open   map[net.Conn]struct{}
	closed bool
}

func newConnections(limit int) *connections {
	return &connections{limit: limit, open: map[net.Conn]struct{}{}}
}

// add is false when there are too many connections or closeAll was called.
func (c *connections) add(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.open) >= c.limit {
		return false
	}
	c.open[conn] = struct{}{}
	return true
}

// remove closes the connection and forgets it.
func (c *connections) remove(conn net.Conn) {
	_ = conn.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, conn)
}

func (c *connections) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)
}

// closeAll ends every connection, and those to come.
func (c *connections) closeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for conn := range c.open {
		_ = conn.Close()
	}
}
