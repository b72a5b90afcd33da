package cuda

import "errors"

// Context is the primary context of a device.
type Context struct {
	life
	p *primary
}

// Open returns the process's context of a device. Every Open needs a Close; the context is released with the last one, when
// everything that was made with it is closed too. Making and releasing a context takes the driver long: who opens the same
// device meanwhile waits, who uses another one does not.
func Open(d Device) (*Context, error) {
	p, err := use(d)
	if err != nil {
		return nil, err
	}
	c := &Context{p: p}
	c.end = p.leave
	return c, nil
}

// create makes something in the context that keeps the context until leave.
func (c *Context) create(name string, f func(d driver) Code) error {
	if !c.enter() {
		return ErrClosed
	}
	defer c.exit()
	if err := c.p.call(name, f); err != nil {
		return err
	}
	c.p.join()
	return nil
}

// do makes a call on an open context.
func (c *Context) do(name string, f func(d driver) Code) error {
	if !c.enter() {
		return ErrClosed
	}
	defer c.exit()
	return c.p.call(name, f)
}

// Device is the context's device.
func (c *Context) Device() Device { return c.p.device }

// Close gives the context up. Streams, memory and the like that were made with it stay usable until they are closed.
func (c *Context) Close() error {
	if c == nil {
		return nil
	}
	return c.close()
}

// Synchronize waits for all work of the context.
func (c *Context) Synchronize() error {
	return c.do("cuCtxSynchronize", driver.contextSynchronize)
}

// MemInfo tells the device's free and total memory in bytes.
func (c *Context) MemInfo() (free, total int64, err error) {
	err = c.do("cuMemGetInfo", func(d driver) (code Code) {
		free, total, code = d.memInfo()
		return code
	})
	return free, total, err
}

// EnablePeer lets work of c reach the memory of o; nil when it does already.
func (c *Context) EnablePeer(o *Context) error {
	if c.p == o.p {
		return nil
	}
	err := c.do("cuCtxEnablePeerAccess", func(d driver) Code { return d.enablePeer(o.p.context) })
	if errors.Is(err, PeerAlreadyOn) {
		return nil
	}
	return err
}
