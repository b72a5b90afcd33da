package reference

import (
	"fmt"

	"facetrack/infer"
)

// Name is the backend's name.
const Name = "reference"

func init() { infer.Register(Name, 0, Open) }

// Open compiles a valid graph. Constants are shared with g.
func Open(g *infer.Graph, opts infer.Options) (infer.Session, error) {
	if err := opts.NeedsFP32(); err != nil {
		return nil, err
	}
	s := &session{inputs: g.InputInfo(), outputs: g.OutputInfo(), maxBatch: opts.MaxBatch}
	c := compiler{g: g, data: make([][]float32, len(g.Values))}
	for _, id := range g.Inputs {
		s.in = append(s.in, c.buffer(id))
	}
	for i := range g.Nodes {
		step, err := c.node(&g.Nodes[i])
		if err != nil {
			return nil, fmt.Errorf("reference: %s: %w", &g.Nodes[i], err)
		}
		s.steps = append(s.steps, step...)
	}
	for _, id := range g.Outputs {
		s.out = append(s.out, c.buffer(id))
	}
	return s, nil
}

type session struct {
	inputs, outputs []infer.Info
	maxBatch        int
	in, out         [][]float32 // one batch item
	steps           []func()
	closed          bool
}

func (s *session) Backend() string       { return Name }
func (s *session) Inputs() []infer.Info  { return s.inputs }
func (s *session) Outputs() []infer.Info { return s.outputs }

func (s *session) Run(batch int, in, out []infer.Buffer) error {
	if s.closed {
		return infer.ErrClosed
	}
	if err := infer.CheckHost(batch, s.maxBatch, s.inputs, in); err != nil {
		return fmt.Errorf("inputs: %w", err)
	}
	if err := infer.CheckHost(batch, s.maxBatch, s.outputs, out); err != nil {
		return fmt.Errorf("outputs: %w", err)
	}
	for item := range batch {
		for i, x := range s.in {
			copy(x, in[i].Host[item*len(x):])
		}
		for _, step := range s.steps {
			step()
		}
		for i, y := range s.out {
			copy(out[i].Host[item*len(y):], y)
		}
	}
	return nil
}

func (s *session) Close() error {
	s.closed = true
	s.steps, s.in, s.out = nil, nil, nil
	return nil
}
