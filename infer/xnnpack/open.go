//go:build xnnpack

package xnnpack

// #include "native.h"
// #include <stdlib.h>
import "C"

import (
	"fmt"
	"sync"
	"unsafe"

	"facetrack/infer"
)

// rank puts this backend before the plain Go reference.
const rank = 50

func init() { infer.Register(Name, rank, open) }

var initialize = sync.OnceValue(func() error {
	chooseLanes(maxLanes)
	return check(C.xnn_initialize(nil), "initialize the library")
})

// maxLanes is the widest vector that there are kernels for.
const maxLanes = 16

// lanes is the vector width in use, in floats.
var lanes int

// chooseLanes takes the kernels with the widest vectors, up to `most` floats, that the processor has. Sessions that
// are open do not survive it: their filters are packed for another width.
func chooseLanes(most int) { lanes = int(C.ft_choose_lanes(C.size_t(most))) }

func open(g *infer.Graph, o infer.Options) (infer.Session, error) {
	if err := o.NeedsFP32(); err != nil {
		return nil, err
	}
	s, err := build(g, o)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func build(g *infer.Graph, o infer.Options) (*session, error) {
	if err := initialize(); err != nil {
		return nil, err
	}
	s := &session{
		inputs: g.InputInfo(), outputs: g.OutputInfo(), maxBatch: max(o.MaxBatch, 1), lanes: lanes,
		memory: map[infer.ValueID]*C.float{},
	}
	if err := s.compile(lower(g), max(o.Threads, 1)); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

func (s *session) compile(p *program, threads int) error {
	if threads > 1 {
		if s.pool = C.pthreadpool_create(C.size_t(threads)); s.pool == nil {
			return fmt.Errorf("%w: cannot create a pool of %d threads; use fewer", ErrStatus, threads)
		}
	}
	if err := s.layOut(p); err != nil {
		return err
	}
	var steps []C.ft_step
	for i := range p.nodes {
		n := &p.nodes[i]
		more, err := s.nodeSteps(p, n)
		if err != nil {
			return fmt.Errorf("node %s: %w", n, err)
		}
		for range more {
			s.names, s.nodes = append(s.names, n.String()), append(s.nodes, i)
		}
		steps = append(steps, more...)
	}
	if err := s.keepSteps(steps); err != nil {
		return err
	}
	return s.bind(p)
}

// layOut gives every value its place in one block of memory.
func (s *session) layOut(p *program) error {
	spans := p.spans()
	block, err := s.alloc(place(spans))
	if err != nil {
		return err
	}
	for _, sp := range spans {
		s.memory[sp.id] = advance(block, sp.Offset)
	}
	return nil
}

// keepSteps moves the steps to C memory.
func (s *session) keepSteps(steps []C.ft_step) error {
	s.steps = (*C.ft_step)(C.calloc(C.size_t(len(steps)+1), C.sizeof_ft_step))
	s.failed = (*C.size_t)(C.calloc(1, C.sizeof_size_t))
	if s.steps == nil || s.failed == nil {
		return fmt.Errorf("%w: no memory for %d steps", ErrStatus, len(steps))
	}
	s.count = len(steps)
	copy(unsafe.Slice(s.steps, len(steps)), steps)
	return nil
}

// bind finds where the graph's inputs and outputs are.
func (s *session) bind(p *program) error {
	s.direct = p.direct()
	for _, id := range p.in {
		s.in = append(s.in, s.memory[id])
	}
	for _, id := range p.out {
		address, err := s.address(p, id)
		if err != nil {
			return err
		}
		s.out = append(s.out, address)
	}
	return nil
}

// address is where a value is: constants are copied to C memory.
func (s *session) address(p *program, id infer.ValueID) (*C.float, error) {
	if p.isConstant(id) {
		return s.constant(p.values[id].Data)
	}
	return s.memory[p.alias[id]], nil
}

func (s *session) constant(data []float32) (*C.float, error) {
	block, err := s.alloc(len(data))
	if err == nil {
		copy(floats(block, len(data)), data)
	}
	return block, err
}

func (s *session) alloc(n int) (*C.float, error) {
	block := C.ft_alloc(C.size_t(n))
	if block == nil {
		return nil, fmt.Errorf("%w: no memory for %d floats", ErrStatus, n)
	}
	s.blocks = append(s.blocks, block)
	return block, nil
}
