package cuda

import "fmt"

// Pinned is page-locked host memory.
type Pinned struct {
	life
	p     *primary
	bytes []byte
}

// AllocPinned takes page-locked host memory from the driver.
func (c *Context) AllocPinned(bytes int) (*Pinned, error) {
	if bytes <= 0 {
		return nil, fmt.Errorf("cuda: %d bytes of page-locked memory", bytes)
	}
	m := &Pinned{p: c.p}
	err := c.create("cuMemHostAlloc", func(d driver) (code Code) {
		m.bytes, code = d.hostAlloc(bytes)
		return code
	})
	m.end = func() error {
		return m.p.finish("cuMemFreeHost", func(d driver) Code { return d.hostFree(m.bytes) })
	}
	return orNil(m, err)
}

// Register page-locks memory that exists (a mapping, page-aligned; never Go's heap). It has to stay mapped until Close.
func (c *Context) Register(mem []byte) (*Pinned, error) {
	if len(mem) == 0 {
		return nil, fmt.Errorf("cuda: no memory to page-lock")
	}
	m := &Pinned{p: c.p, bytes: mem}
	err := c.create("cuMemHostRegister", func(d driver) Code { return d.hostRegister(mem) })
	m.end = func() error {
		return m.p.finish("cuMemHostUnregister", func(d driver) Code { return d.hostUnregister(m.bytes) })
	}
	return orNil(m, err)
}

func orNil[T any](v *T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

// Bytes is the memory; nil after Close.
func (m *Pinned) Bytes() []byte {
	if !m.enter() {
		return nil
	}
	defer m.exit()
	return m.bytes
}

// Close frees or unlocks the memory; no copy to or from it may be under way.
func (m *Pinned) Close() error {
	if m == nil {
		return nil
	}
	return m.close()
}
