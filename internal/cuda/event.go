package cuda

import "errors"

// Event marks a point in a stream.
type Event struct {
	life
	p    *primary
	word word
}

// NewEvent makes an event; one that was never recorded counts as done.
func (c *Context) NewEvent(o EventOptions) (*Event, error) {
	if o.Interprocess && o.Timing {
		return nil, failed("cuEventCreate", InvalidValue)
	}
	return c.event("cuEventCreate", func(d driver) (word, Code) { return d.eventCreate(o) })
}

// ImportEvent opens an event of another process.
func (c *Context) ImportEvent(h Handle) (*Event, error) {
	return c.event("cuIpcOpenEventHandle", func(d driver) (word, Code) { return d.eventOpen(h) })
}

func (c *Context) event(name string, f func(d driver) (word, Code)) (*Event, error) {
	e := &Event{p: c.p}
	err := c.create(name, func(d driver) (code Code) {
		e.word, code = f(d)
		return code
	})
	e.end = func() error {
		return e.p.finish("cuEventDestroy", func(d driver) Code { return d.eventDestroy(e.word) })
	}
	return orNil(e, err)
}

func (e *Event) do(name string, f func(d driver) Code) error {
	if !e.enter() {
		return ErrClosed
	}
	defer e.exit()
	return e.p.call(name, f)
}

// Handle exports an Interprocess event.
func (e *Event) Handle() (h Handle, err error) {
	err = e.do("cuIpcGetEventHandle", func(d driver) (code Code) {
		h, code = d.eventHandle(e.word)
		return code
	})
	return h, err
}

// Done tells whether the work before the last Record is finished.
func (e *Event) Done() (bool, error) {
	return done(e.do("cuEventQuery", func(d driver) Code { return d.eventQuery(e.word) }))
}

func done(err error) (bool, error) {
	if errors.Is(err, NotReady) {
		return false, nil
	}
	return err == nil, err
}

// Synchronize waits on the host for the work before the last Record.
func (e *Event) Synchronize() error {
	return e.do("cuEventSynchronize", func(d driver) Code { return d.eventSynchronize(e.word) })
}

// ElapsedMS is the time in milliseconds from since to e on the GPU; both were made with Timing and are done.
func (e *Event) ElapsedMS(since *Event) (ms float64, err error) {
	if !since.enter() {
		return 0, ErrClosed
	}
	defer since.exit()
	err = e.do("cuEventElapsedTime", func(d driver) (code Code) {
		ms, code = d.eventElapsed(since.word, e.word)
		return code
	})
	return ms, err
}

// Close destroys the event; work that waits for it already goes on when it is due.
func (e *Event) Close() error {
	if e == nil {
		return nil
	}
	return e.close()
}
