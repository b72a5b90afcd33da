//go:build xnnpack

package xnnpack

// #cgo CFLAGS: -O3
// #cgo LDFLAGS: -lXNNPACK -lpthreadpool -lm
// #include "native.h"
// #include <stdlib.h>
import "C"

import (
	"fmt"
	"unsafe"

	"facetrack/infer"
)

// Name is the name that the backend registers under.
const Name = "cpu"

// session is a program compiled to steps. All memory is C memory, so that no Go pointer is kept on the C side.
type session struct {
	inputs, outputs []infer.Info
	maxBatch        int
	direct          bool       // the first step reads the caller's input
	in, out         []*C.float // where the graph's inputs and outputs of one batch item are

	lanes    int             // vector width of the kernels, which the filters are packed for
	pool     C.pthreadpool_t // nil for one thread
	memory   map[infer.ValueID]*C.float
	blocks   []*C.float // everything to free
	runtimes []C.xnn_runtime_t
	steps    *C.ft_step // C array
	count    int
	names    []string // of the steps, for errors
	nodes    []int    // of the steps: the program's node
	failed   *C.size_t
	closed   bool
}

func (s *session) Backend() string       { return Name }
func (s *session) Inputs() []infer.Info  { return s.inputs }
func (s *session) Outputs() []infer.Info { return s.outputs }

// Run computes the batch items one after another.
func (s *session) Run(batch int, in, out []infer.Buffer) error {
	if s.closed {
		return infer.ErrClosed
	}
	if batch < 1 || batch > s.maxBatch {
		return fmt.Errorf("%w: batch %d, this session takes 1 to %d; set Options.MaxBatch", infer.ErrBadInput, batch, s.maxBatch)
	}
	if err := checkBuffers("input", batch, s.inputs, in); err != nil {
		return err
	}
	if err := checkBuffers("output", batch, s.outputs, out); err != nil {
		return err
	}
	for item := range batch {
		if err := s.runSteps(0, s.count, s.take(item, in)); err != nil {
			return err
		}
		for i, info := range s.outputs {
			n := info.Len()
			copy(out[i].Host[item*n:(item+1)*n], floats(s.out[i], n))
		}
	}
	return nil
}

// take brings a batch item to the steps: copied, or as the pointer that a direct session reads during the run.
func (s *session) take(item int, in []infer.Buffer) *float32 {
	if s.direct {
		return &in[0].Host[item*s.inputs[0].Len()]
	}
	for i, info := range s.inputs {
		n := info.Len()
		copy(floats(s.in[i], n), in[i].Host[item*n:])
	}
	return nil
}

func (s *session) runSteps(first, count int, input *float32) error {
	steps := (*C.ft_step)(unsafe.Add(unsafe.Pointer(s.steps), first*C.sizeof_ft_step))
	if status := C.ft_run(steps, C.size_t(count), (*C.float)(input), s.pool, s.failed); status != C.xnn_status_success {
		return check(status, "run "+s.names[first+int(*s.failed)])
	}
	return nil
}

func checkBuffers(what string, batch int, infos []infer.Info, buffers []infer.Buffer) error {
	if len(buffers) != len(infos) {
		return fmt.Errorf("%w: %d %s buffers, the graph has %d", infer.ErrBadInput, len(buffers), what, len(infos))
	}
	for i, info := range infos {
		if buffers[i].Device != 0 {
			return fmt.Errorf("%w: %s %q is in device memory, this backend takes host memory", infer.ErrBadInput, what, info.Name)
		}
		if got, want := len(buffers[i].Host), batch*info.Len(); got != want {
			return fmt.Errorf("%w: %s %q has %d elements, want %d", infer.ErrBadInput, what, info.Name, got, want)
		}
	}
	return nil
}

// Close frees everything. It may be called again.
func (s *session) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	for _, r := range s.runtimes {
		C.xnn_delete_runtime(r)
	}
	if s.pool != nil {
		C.pthreadpool_destroy(s.pool)
	}
	for _, b := range s.blocks {
		C.free(unsafe.Pointer(b))
	}
	C.free(unsafe.Pointer(s.steps))
	C.free(unsafe.Pointer(s.failed))
	return nil
}

// floats views C memory as a slice.
func floats(p *C.float, n int) []float32 { return unsafe.Slice((*float32)(unsafe.Pointer(p)), n) }

// advance moves a pointer into C memory by n floats.
func advance(p *C.float, n int) *C.float {
	return (*C.float)(unsafe.Add(unsafe.Pointer(p), n*C.sizeof_float))
}
