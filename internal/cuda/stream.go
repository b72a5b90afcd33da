package cuda

// Stream is a queue of work on the device (non-blocking: independent of the default stream). Its methods queue work and
// return; the work's own failure shows in a later call.
type Stream struct {
	life
	context *Context
	p       *primary
	word    word
}

// NewStream makes a stream.
func (c *Context) NewStream() (*Stream, error) {
	s := &Stream{context: c, p: c.p}
	err := c.create("cuStreamCreate", func(d driver) (code Code) {
		s.word, code = d.streamCreate()
		return code
	})
	s.end = func() error {
		return s.p.finish("cuStreamDestroy", func(d driver) Code { return d.streamDestroy(s.word) })
	}
	return orNil(s, err)
}

// Context is the context that the stream was made with.
func (s *Stream) Context() *Context { return s.context }

func (s *Stream) do(name string, f func(d driver) Code) error {
	if !s.enter() {
		return ErrClosed
	}
	defer s.exit()
	return s.p.call(name, f)
}

// with makes a call that uses an event too.
func (s *Stream) with(e *Event, name string, f func(d driver) Code) error {
	if !e.enter() {
		return ErrClosed
	}
	defer e.exit()
	return s.do(name, f)
}

// Record moves the event behind all work that is queued now.
func (s *Stream) Record(e *Event) error {
	return s.with(e, "cuEventRecord", func(d driver) Code { return d.streamRecord(s.word, e.word) })
}

// Wait lets work that is queued later wait for the event's last Record, on the GPU; the host goes on.
func (s *Stream) Wait(e *Event) error {
	return s.with(e, "cuStreamWaitEvent", func(d driver) Code { return d.streamWait(s.word, e.word) })
}

// Done tells whether all queued work is finished.
func (s *Stream) Done() (bool, error) {
	return done(s.do("cuStreamQuery", func(d driver) Code { return d.streamQuery(s.word) }))
}

// Synchronize waits on the host for all queued work.
func (s *Stream) Synchronize() error {
	return s.do("cuStreamSynchronize", func(d driver) Code { return d.streamSynchronize(s.word) })
}

// Write64 writes a word of device memory after all work before it.
func (s *Stream) Write64(addr, value uint64) error {
	return s.do("cuStreamWriteValue64", func(d driver) Code { return d.write64(s.word, addr, value, s.p.v1) })
}

// WaitGEQ64 lets work that is queued later wait, on the GPU, until (int64)(*addr - value) >= 0.
func (s *Stream) WaitGEQ64(addr, value uint64) error {
	return s.do("cuStreamWaitValue64", func(d driver) Code { return d.waitGEQ64(s.word, addr, value, s.p.v1) })
}

// Close gives the stream up; queued work is still done.
func (s *Stream) Close() error {
	if s == nil {
		return nil
	}
	return s.close()
}
