package cuda

// Graph is captured work, instantiated: launching it costs one call however much work it is.
type Graph struct {
	life
	p    *primary
	word word
}

// BeginCapture makes the stream note what is queued instead of doing it, until EndCapture. Other threads and streams are
// not restricted meanwhile.
func (s *Stream) BeginCapture() error {
	return s.do("cuStreamBeginCapture", func(d driver) Code { return d.captureBegin(s.word) })
}

// EndCapture ends the capture, whatever it returns.
func (s *Stream) EndCapture() (*Graph, error) {
	if !s.enter() {
		return nil, ErrClosed
	}
	defer s.exit()
	var captured word
	err := s.p.call("cuStreamEndCapture", func(d driver) (code Code) {
		captured, code = d.captureEnd(s.word)
		return code
	})
	if err != nil {
		return nil, err
	}
	g := &Graph{p: s.p}
	err = s.p.call("cuGraphInstantiateWithFlags", func(d driver) (code Code) {
		g.word, code = d.graphInstantiate(captured)
		return code
	})
	_ = s.p.call("cuGraphDestroy", func(d driver) Code { return d.graphDestroy(captured) }) // the instance needs it no more
	if err != nil {
		return nil, err
	}
	g.p.join()
	g.end = func() error {
		return g.p.finish("cuGraphExecDestroy", func(d driver) Code { return d.graphEnd(g.word) })
	}
	return g, nil
}

// Launch queues the captured work.
func (g *Graph) Launch(s *Stream) error {
	if !g.enter() {
		return ErrClosed
	}
	defer g.exit()
	return s.do("cuGraphLaunch", func(d driver) Code { return d.graphLaunch(g.word, s.word) })
}

// Close gives the graph up; no launch of it may be running.
func (g *Graph) Close() error {
	if g == nil {
		return nil
	}
	return g.close()
}
