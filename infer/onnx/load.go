package onnx

import (
	"fmt"

	"facetrack/infer"
)

// Load reads a model. The graph is valid, not yet optimised, and does not alias data.
// Errors wrap ErrMalformed, ErrUnsupported or infer.ErrInvalidGraph.
func Load(data []byte) (*infer.Graph, error) {
	m, err := parseModel(data)
	if err != nil {
		return nil, err
	}
	l := &loader{
		g:       &infer.Graph{Name: m.name},
		tensors: map[string]*tensor{},
		values:  map[string]operand{},
		budget:  m.size + 1024,
	}
	for _, t := range m.tensors {
		l.tensors[t.name] = t
	}
	if err := l.inputs(m.inputs); err != nil {
		return nil, err
	}
	for i := range m.nodes {
		if err := l.node(&m.nodes[i]); err != nil {
			return nil, fmt.Errorf("node %d (%s %q): %w", i, m.nodes[i].op, m.nodes[i].name, err)
		}
	}
	for _, out := range m.outputs {
		v, ok := l.values[out.name]
		if !ok {
			return nil, fmt.Errorf("%w: output %q is not computed by any node", ErrMalformed, out.name)
		}
		l.g.Outputs = append(l.g.Outputs, v.id)
	}
	if err := l.g.Validate(); err != nil {
		return nil, err
	}
	return l.g, nil
}

// operand is an activation. An image is NCHW in the file and NHWC in the graph; anything else is as in the file.
type operand struct {
	id    infer.ValueID
	image bool
}

// loader converts nodes; constants are decoded when a node needs them, in the layout it needs.
type loader struct {
	g       *infer.Graph
	tensors map[string]*tensor
	values  map[string]operand
	budget  int // constant elements that may still be decoded
}

func (l *loader) inputs(list []info) error {
	for _, in := range list {
		if _, constant := l.tensors[in.name]; constant {
			continue // older files list constants here too
		}
		if _, twice := l.values[in.name]; twice {
			return fmt.Errorf("%w: input %q is listed twice", ErrMalformed, in.name)
		}
		shape := append([]int(nil), in.shape...)
		if len(shape) > 0 && shape[0] == 0 {
			shape[0] = 1 // a free batch dimension
		}
		if _, err := infer.CheckShape(shape); err != nil {
			return fmt.Errorf("input %q: %w", in.name, err)
		}
		image := len(shape) == 4
		if image {
			shape = []int{shape[0], shape[2], shape[3], shape[1]}
		}
		id := l.add(infer.Value{Name: in.name, Shape: shape})
		l.values[in.name] = operand{id, image}
		l.g.Inputs = append(l.g.Inputs, id)
	}
	return nil
}

func (l *loader) node(n *node) error {
	convert, ok := converters[n.op]
	if !ok || n.domain != "" && n.domain != "ai.onnx" {
		return fmt.Errorf("%w: operator %q of domain %q", ErrUnsupported, n.op, n.domain)
	}
	if len(n.outputs) != 1 || len(n.inputs) == 0 && n.op != "Constant" {
		return fmt.Errorf("%w: %d inputs and %d outputs", ErrMalformed, len(n.inputs), len(n.outputs))
	}
	if _, twice := l.values[n.outputs[0]]; twice || l.tensors[n.outputs[0]] != nil {
		return fmt.Errorf("%w: %q is computed twice", ErrMalformed, n.outputs[0])
	}
	return convert(l, n)
}

func (l *loader) add(v infer.Value) infer.ValueID {
	l.g.Values = append(l.g.Values, v)
	return infer.ValueID(len(l.g.Values) - 1)
}

// compute appends a node and the value that it computes. shape is only for Reshape.
func (l *loader) compute(n infer.Node, name string, shape []int) (infer.ValueID, error) {
	if len(l.g.Values) >= infer.MaxValues {
		return 0, fmt.Errorf("%w: more than %d values", ErrMalformed, infer.MaxValues)
	}
	id := l.add(infer.Value{Name: name, Shape: shape})
	n.Name, n.Outputs = name, []infer.ValueID{id}
	shape, err := l.g.OutputShape(&n)
	if err != nil {
		return 0, err
	}
	l.g.Values[id].Shape = shape
	l.g.Nodes = append(l.g.Nodes, n)
	return id, nil
}

// emit appends the node that computes the file's value n.outputs[0].
func (l *loader) emit(n *node, out infer.Node, image bool) error {
	id, err := l.compute(out, n.outputs[0], nil)
	l.values[n.outputs[0]] = operand{id, image}
	return err
}
