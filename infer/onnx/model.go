package onnx

import (
	"fmt"

	"facetrack/infer"
)

// Limits on what a file may list, beyond those of the graph.
const (
	maxOperands   = 256
	maxAttributes = 64
	maxInts       = 64      // of one attribute or small integer constant
	maxFile       = 1 << 30 // bytes
)

type node struct {
	name, op, domain string
	inputs, outputs  []string
	attributes       map[string]attribute
}

type attribute struct {
	i      int
	s      string
	ints   []int
	tensor *tensor
}

type info struct {
	name  string
	shape []int // 0 for a dimension that is not given
}

type model struct {
	size    int
	name    string
	opset   int
	nodes   []node
	tensors []*tensor
	inputs  []info
	outputs []info
}

func parseModel(data []byte) (*model, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("%w: %d bytes is above the limit of %d", ErrUnsupported, len(data), maxFile)
	}
	m := &model{size: len(data)}
	var graph []byte
	err := fields("model", data, func(f field) error {
		switch f.num {
		case 7:
			graph = f.bytes
		case 8:
			return m.opsetImport(f.bytes)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(graph) == 0 {
		return nil, fmt.Errorf("%w: there is no graph; is this an .onnx file?", ErrMalformed)
	}
	if m.opset < 11 || m.opset > 13 {
		return nil, fmt.Errorf("%w: operator set %d; 11 to 13 are known", ErrUnsupported, m.opset)
	}
	return m, fields("graph", graph, m.graphField)
}

func (m *model) opsetImport(msg []byte) error {
	domain, version := "", 0
	err := fields("operator set", msg, func(f field) error {
		switch f.num {
		case 1:
			domain = string(f.bytes)
		case 2:
			version = int(f.number)
		}
		return nil
	})
	if domain == "" || domain == "ai.onnx" {
		m.opset = version
	}
	return err
}

func (m *model) graphField(f field) (err error) {
	switch f.num {
	case 1:
		err = m.node(f.bytes)
	case 2:
		m.name = string(f.bytes)
	case 5:
		var t *tensor
		t, err = parseTensor(f.bytes)
		m.tensors = append(m.tensors, t)
	case 11:
		m.inputs, err = appendInfo(m.inputs, f.bytes)
	case 12:
		m.outputs, err = appendInfo(m.outputs, f.bytes)
	}
	if max(len(m.inputs), len(m.outputs), len(m.tensors)) > infer.MaxValues {
		return fmt.Errorf("%w: more than %d inputs, outputs or constants", ErrMalformed, infer.MaxValues)
	}
	return err
}

func (m *model) node(msg []byte) error {
	if len(m.nodes) == infer.MaxNodes {
		return fmt.Errorf("%w: more than %d nodes", ErrMalformed, infer.MaxNodes)
	}
	n := node{attributes: map[string]attribute{}}
	what := fmt.Sprintf("node %d", len(m.nodes))
	err := fields(what, msg, func(f field) error {
		switch f.num {
		case 1:
			n.inputs = append(n.inputs, string(f.bytes))
		case 2:
			n.outputs = append(n.outputs, string(f.bytes))
		case 3:
			n.name = string(f.bytes)
		case 4:
			n.op = string(f.bytes)
		case 5:
			name, a, err := parseAttribute(what, f.bytes)
			n.attributes[name] = a
			return err
		case 7:
			n.domain = string(f.bytes)
		}
		if max(len(n.inputs), len(n.outputs)) > maxOperands || len(n.attributes) > maxAttributes {
			return fmt.Errorf("%w: %s: too many operands or attributes", ErrMalformed, what)
		}
		return nil
	})
	m.nodes = append(m.nodes, n)
	return err
}

func parseAttribute(what string, msg []byte) (name string, a attribute, err error) {
	err = fields(what+" attribute", msg, func(f field) (err error) {
		switch f.num {
		case 1:
			name = string(f.bytes)
		case 3:
			a.i = int(f.number)
		case 4:
			a.s = string(f.bytes)
		case 5:
			a.tensor, err = parseTensor(f.bytes)
		case 8:
			a.ints, err = appendInts(what, a.ints, f, maxInts)
		}
		return err
	})
	return name, a, err
}
