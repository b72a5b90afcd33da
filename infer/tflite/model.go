package tflite

import (
	"bytes"
	"fmt"

	"facetrack/infer"
)

// Limits on what a file may list, beyond those of the graph.
const (
	maxName     = 256     // bytes of a name; longer ones are cut
	maxOperands = 256     // of one operator
	maxFile     = 1 << 30 // bytes
)

// Tensor types of the schema that appear in float networks.
const (
	typeFloat32 = 0
	typeFloat16 = 1
	typeInt32   = 2
	typeInt64   = 4
)

type tensor struct {
	name  string
	shape []int
	kind  int
	data  []byte // empty for an activation
}

type operator struct {
	code    int
	custom  string
	inputs  []int // tensor numbers, -1 for an omitted one
	outputs []int
	options table
}

type model struct {
	size      int
	name      string
	tensors   []tensor
	operators []operator
	inputs    []int
	outputs   []int
}

// parser turns the file into plain Go values; at says where it is, for errors.
type parser struct{ at string }

func (p *parser) enter(format string, args ...any) { p.at = fmt.Sprintf(format, args...) }

func (p *parser) parse(data []byte) (*model, error) {
	p.enter("header")
	if len(data) < 8 || !bytes.Equal(data[4:8], []byte("TFL3")) {
		return nil, fmt.Errorf("%w: the file identifier TFL3 is missing; is this a .tflite file?", ErrMalformed)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%w: %d bytes is above the limit of %d", ErrUnsupported, len(data), maxFile)
	}
	root := rootTable(data)
	if v := root.uint32(0); v != 3 {
		return nil, fmt.Errorf("%w: schema version %d; only 3 is known", ErrUnsupported, v)
	}
	p.enter("subgraphs")
	graphs := root.tables(2, infer.MaxNodes)
	if len(graphs) != 1 {
		return nil, fmt.Errorf("%w: %d subgraphs; needs exactly 1", ErrUnsupported, len(graphs))
	}
	m := &model{size: len(data), name: graphs[0].text(4)}
	p.enter("subgraph inputs and outputs")
	m.inputs, m.outputs = graphs[0].ints(1, maxOperands), graphs[0].ints(2, maxOperands)
	p.tensors(m, root, graphs[0])
	return m, p.operators(m, root, graphs[0])
}

func (p *parser) tensors(m *model, root, graph table) {
	p.enter("buffers")
	buffers := root.tables(4, 2*infer.MaxValues)
	p.enter("tensors")
	list := graph.tables(0, infer.MaxValues)
	m.tensors = make([]tensor, len(list))
	for i, t := range list {
		p.enter("tensor %d", i)
		m.tensors[i] = tensor{name: t.text(3), shape: t.ints(0, infer.MaxRank), kind: t.int8(1)}
		b := t.uint32(2)
		if b >= len(buffers) {
			panic(fmt.Sprintf("buffer %d of %d", b, len(buffers)))
		}
		m.tensors[i].data = buffers[b].bytes(0)
	}
}

func (p *parser) operators(m *model, root, graph table) error {
	p.enter("operator codes")
	codes := root.tables(1, infer.MaxNodes)
	p.enter("operators")
	list := graph.tables(3, infer.MaxNodes)
	m.operators = make([]operator, len(list))
	for i, t := range list {
		p.enter("operator %d", i)
		c := t.uint32(0)
		if c >= len(codes) {
			return fmt.Errorf("%w: operator %d: code %d of %d", ErrMalformed, i, c, len(codes))
		}
		m.operators[i] = operator{
			code:    max(codes[c].int8(0), codes[c].int32(3, 0)), // the first field is older and ends at 127
			custom:  codes[c].text(1),
			inputs:  t.ints(1, maxOperands),
			outputs: t.ints(2, maxOperands),
			options: t.child(4),
		}
	}
	return nil
}
