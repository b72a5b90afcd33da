package cuda

import "fmt"

// granule is what the driver maps: an allocation of another size would share its IPC handle with its neighbours.
const granule = 2 << 20

// Memory is device memory, this process's own or imported.
type Memory struct {
	life
	p       *primary
	address uint64
	bytes   int64
}

// Alloc takes device memory with a plain allocation, zeroed. The size is rounded up to a multiple of 2 MiB.
func (c *Context) Alloc(bytes int64) (*Memory, error) {
	if bytes <= 0 {
		return nil, fmt.Errorf("cuda: an allocation of %d bytes", bytes)
	}
	m := &Memory{p: c.p, bytes: (bytes + granule - 1) / granule * granule}
	err := c.create("cuMemAlloc", func(d driver) (code Code) {
		m.address, code = d.memAlloc(m.bytes)
		return code
	})
	if err != nil {
		return nil, err
	}
	m.end = func() error {
		return m.p.finish("cuMemFree", func(d driver) Code { return d.memFree(m.address) })
	}
	if err := c.zero(m); err != nil {
		_ = m.Close()
		return nil, err
	}
	return m, nil
}

// zero uses a stream of its own: waiting for the default one could mean waiting for others' work.
func (c *Context) zero(m *Memory) error {
	s, err := c.NewStream()
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Fill(m.address, 0, m.bytes); err != nil {
		return err
	}
	return s.Synchronize()
}

// Address is the device address of the first byte.
func (m *Memory) Address() uint64 { return m.address }

// Bytes is the size of the whole allocation; 0 when the driver does not tell it of imported memory.
func (m *Memory) Bytes() int64 { return m.bytes }

// Handle exports the allocation to other processes; it is valid until Close.
func (m *Memory) Handle() (h Handle, err error) {
	if !m.enter() {
		return h, ErrClosed
	}
	defer m.exit()
	err = m.p.call("cuIpcGetMemHandle", func(d driver) (code Code) {
		h, code = d.memHandle(m.address)
		return code
	})
	return h, err
}

// Close frees own memory, after the work that is queued, and gives imported memory up.
func (m *Memory) Close() error {
	if m == nil {
		return nil
	}
	return m.close()
}
