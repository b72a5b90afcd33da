//go:build xnnpack

package xnnpack

// #include <xnnpack.h>
import "C"

import (
	"fmt"
	"unsafe"

	"facetrack/infer"
)

// operator builds the XNNPACK runtime of one node. One node each, and not a long subgraph: then all activations are
// in one arena, which keeps more of them in the cache than XNNPACK's plan does, and every step can be timed.
type operator struct {
	s     *session
	p     *program
	graph C.xnn_subgraph_t
	ids   map[infer.ValueID]C.uint32_t
	ext   []C.struct_xnn_external_value
}

// newRuntime compiles a node into a runtime that is bound to the session's memory.
func (s *session) newRuntime(p *program, n *node) (C.xnn_runtime_t, error) {
	b := &operator{s: s, p: p, ids: map[infer.ValueID]C.uint32_t{}}
	reserved := C.uint32_t(len(n.Inputs) + len(n.Outputs))
	if err := check(C.xnn_create_subgraph(reserved, 0, &b.graph), "create subgraph"); err != nil {
		return nil, err
	}
	defer C.xnn_delete_subgraph(b.graph)
	for _, id := range n.Inputs[:operands(n)] {
		if err := b.value(id, C.XNN_VALUE_FLAG_EXTERNAL_INPUT); err != nil {
			return nil, err
		}
	}
	if err := b.value(n.Outputs[0], C.XNN_VALUE_FLAG_EXTERNAL_OUTPUT); err != nil {
		return nil, err
	}
	if err := b.define(n); err != nil {
		return nil, err
	}
	return b.compile()
}

// operands is how many of the inputs become values as they are; the others are weights, which each operator
// lays out in its own way.
func operands(n *node) int {
	switch n.Op {
	case infer.Conv2D, infer.PRelu:
		return 1
	}
	return len(n.Inputs)
}

func (b *operator) compile() (C.xnn_runtime_t, error) {
	var runtime C.xnn_runtime_t
	if err := check(C.xnn_create_runtime_v2(b.graph, b.s.pool, 0, &runtime), "create runtime"); err != nil {
		return nil, err
	}
	if err := check(C.xnn_setup_runtime(runtime, C.size_t(len(b.ext)), &b.ext[0]), "set up runtime"); err != nil {
		C.xnn_delete_runtime(runtime)
		return nil, err
	}
	return runtime, nil
}

// value makes a tensor: a constant, or one in the session's memory.
func (b *operator) value(id infer.ValueID, flag C.uint32_t) error {
	if _, ok := b.ids[id]; ok {
		return nil
	}
	shape := b.p.shape(id)
	if len(shape) > C.XNN_MAX_TENSOR_DIMS {
		return fmt.Errorf("%w: value %q has rank %d, at most %d is possible", ErrUnsupported, b.p.values[id].Name, len(shape), C.XNN_MAX_TENSOR_DIMS)
	}
	var err error
	if b.p.isConstant(id) {
		b.ids[id], err = b.constant(shape, b.p.data(id))
		return err
	}
	number := C.uint32_t(len(b.ext))
	b.ext = append(b.ext, C.struct_xnn_external_value{id: number, data: unsafe.Pointer(b.s.memory[b.p.alias[id]])})
	b.ids[id], err = b.tensor(shape, nil, number, flag)
	return err
}

// constant copies data to memory that lives as long as the session and makes a static tensor of it.
func (b *operator) constant(shape []int, data []float32) (C.uint32_t, error) {
	address, err := b.s.constant(data)
	if err != nil {
		return 0, err
	}
	return b.tensor(shape, unsafe.Pointer(address), C.XNN_INVALID_VALUE_ID, 0)
}

func (b *operator) tensor(shape []int, data unsafe.Pointer, number, flags C.uint32_t) (C.uint32_t, error) {
	if len(shape) == 0 {
		shape = []int{1}
	}
	dims := make([]C.size_t, len(shape))
	for i, d := range shape {
		dims[i] = C.size_t(d)
	}
	var out C.uint32_t
	status := C.xnn_define_tensor_value(b.graph, C.xnn_datatype_fp32, C.size_t(len(dims)), &dims[0], data, number, flags, &out)
	return out, check(status, "define tensor")
}
