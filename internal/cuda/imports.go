package cuda

import (
	"errors"
	"sync"
)

// importTable is the memory of other processes that is mapped into a context. Older drivers refuse to open a handle twice
// in one process, so each is opened once, counted, and closed with its last user.
type importTable struct {
	mu   sync.Mutex
	open map[Handle]*imported
}

type imported struct {
	address uint64
	bytes   int64
	users   int
}

// Import maps the memory that another process exported. A process opens a handle once: later imports share the mapping,
// which is unmapped with the last Close.
func (c *Context) Import(h Handle) (*Memory, error) {
	if !c.enter() {
		return nil, ErrClosed
	}
	defer c.exit()
	i, err := c.p.open(h)
	if err != nil {
		return nil, err
	}
	c.p.join()
	m := &Memory{p: c.p, address: i.address, bytes: i.bytes}
	m.end = func() error { return errors.Join(m.p.drop(h), m.p.leave()) }
	return m, nil
}

func (p *primary) open(h Handle) (*imported, error) {
	t := &p.imports
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := t.open[h]; i != nil {
		i.users++
		return i, nil
	}
	i := &imported{users: 1}
	err := p.call("cuIpcOpenMemHandle", func(d driver) (code Code) {
		if i.address, code = d.memOpen(h); code == 0 {
			i.bytes, _ = d.memBytes(i.address) // not every driver tells
		}
		return code
	})
	if err != nil {
		return nil, err
	}
	if t.open == nil {
		t.open = map[Handle]*imported{}
	}
	t.open[h] = i
	return i, nil
}

func (p *primary) drop(h Handle) error {
	t := &p.imports
	t.mu.Lock()
	defer t.mu.Unlock()
	i := t.open[h]
	if i.users--; i.users > 0 {
		return nil
	}
	delete(t.open, h)
	return p.call("cuIpcCloseMemHandle", func(d driver) Code { return d.memClose(i.address) })
}
