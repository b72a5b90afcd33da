package tflite

import (
	"fmt"
	"slices"

	"facetrack/infer"
)

// Load reads a model. The graph is valid, not yet optimised, and does not alias data.
// Errors wrap ErrMalformed, ErrUnsupported or infer.ErrInvalidGraph.
func Load(data []byte) (g *infer.Graph, err error) {
	var p parser
	defer func() {
		if r := recover(); r != nil {
			g, err = nil, fmt.Errorf("%w: %s: %v", ErrMalformed, p.at, r)
		}
	}()
	m, err := p.parse(data)
	if err != nil {
		return nil, err
	}
	l := newLoader(m)
	if err := l.inputs(); err != nil {
		return nil, err
	}
	for i := range m.operators {
		op := &m.operators[i]
		p.enter("operator %d (%s)", i, operatorName(op))
		if err := l.operator(op); err != nil {
			return nil, fmt.Errorf("%s: %w", p.at, err)
		}
	}
	if err := l.outputs(); err != nil {
		return nil, err
	}
	if err := l.g.Validate(); err != nil {
		return nil, err
	}
	return l.g, nil
}

// loader converts tensors and operators to values and nodes.
type loader struct {
	m      *model
	g      *infer.Graph
	values []infer.ValueID // by tensor; none until an input, constant or operator defines it
	budget int             // constant elements that may still be decoded
}

const none infer.ValueID = -1

func newLoader(m *model) *loader {
	l := &loader{m: m, g: &infer.Graph{Name: m.name}, values: make([]infer.ValueID, len(m.tensors))}
	for i := range l.values {
		l.values[i] = none
	}
	l.budget = m.size + 1024 // a file that shares one buffer among many tensors must not multiply it without bound
	return l
}

func (l *loader) tensor(i int) (*tensor, error) {
	if i < 0 || i >= len(l.m.tensors) {
		return nil, fmt.Errorf("%w: tensor %d of %d", ErrMalformed, i, len(l.m.tensors))
	}
	return &l.m.tensors[i], nil
}

func (l *loader) inputs() error {
	for _, i := range l.m.inputs {
		t, err := l.tensor(i)
		if err != nil {
			return fmt.Errorf("graph inputs: %w", err)
		}
		if t.kind != typeFloat32 || len(t.data) != 0 || l.values[i] != none {
			return fmt.Errorf("%w: input %q must be a float32 activation, listed once", ErrUnsupported, t.name)
		}
		if _, err := infer.CheckShape(t.shape); err != nil {
			return fmt.Errorf("input %q: %w", t.name, err)
		}
		l.values[i] = l.add(infer.Value{Name: t.name, Shape: t.shape})
		l.g.Inputs = append(l.g.Inputs, l.values[i])
	}
	return nil
}

func (l *loader) outputs() error {
	for _, i := range l.m.outputs {
		t, err := l.tensor(i)
		if err != nil {
			return fmt.Errorf("graph outputs: %w", err)
		}
		if l.values[i] == none {
			return fmt.Errorf("%w: output %q is not computed by any operator", ErrMalformed, t.name)
		}
		l.g.Outputs = append(l.g.Outputs, l.values[i])
	}
	return nil
}

func (l *loader) operator(op *operator) error {
	convert, ok := converters[op.code]
	if !ok || op.custom != "" {
		return fmt.Errorf("%w: operator %s", ErrUnsupported, operatorName(op))
	}
	if len(op.inputs) == 0 || len(op.outputs) != 1 {
		return fmt.Errorf("%w: %d inputs and %d outputs", ErrMalformed, len(op.inputs), len(op.outputs))
	}
	return convert(l, op)
}

func (l *loader) add(v infer.Value) infer.ValueID {
	l.g.Values = append(l.g.Values, v)
	return infer.ValueID(len(l.g.Values) - 1)
}

// emit appends a node that computes tensor out, and checks the shape that the file declares for it.
func (l *loader) emit(n infer.Node, out int) error {
	t, err := l.tensor(out)
	if err != nil {
		return err
	}
	if t.kind != typeFloat32 || l.values[out] != none {
		return fmt.Errorf("%w: output %q must be float32 and computed once", ErrUnsupported, t.name)
	}
	n.Name = t.name
	l.values[out] = l.add(infer.Value{Name: t.name, Shape: t.shape})
	n.Outputs = []infer.ValueID{l.values[out]}
	shape, err := l.g.OutputShape(&n)
	if err != nil {
		return err
	}
	if !slices.Equal(shape, t.shape) {
		return fmt.Errorf("%w: computes shape %v, but the file declares %v", ErrMalformed, shape, t.shape)
	}
	l.g.Nodes = append(l.g.Nodes, n)
	return nil
}

// emitInner appends a node that computes a value the file does not name.
func (l *loader) emitInner(n infer.Node, name string) (infer.ValueID, error) {
	id := l.add(infer.Value{Name: name})
	n.Name, n.Outputs = name, []infer.ValueID{id}
	shape, err := l.g.OutputShape(&n)
	if err != nil {
		return none, err
	}
	l.g.Values[id].Shape = shape
	l.g.Nodes = append(l.g.Nodes, n)
	return id, nil
}
