//go:build cuda

package cuda

// #include "calls.h"
import "C"

import "gorgonia.org/cu"

func (native) moduleLoad(image []byte) (word, Code) {
	m, err := cu.LoadData(string(image))
	return out(m), code(err)
}

func (native) moduleUnload(m word) Code { return code(in[cu.Module](m).Unload()) }

func (native) moduleFunction(m word, name string) (word, Code) {
	f, err := in[cu.Module](m).Function(name)
	return out(f), code(err)
}

func (native) functionShared(f word, bytes int) Code {
	return Code(C.cuFuncSetAttribute(in[C.CUfunction](f), C.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, C.int(bytes)))
}

// launch is one call into C; cu's launch makes five, and allocates for each.
func (native) launch(s, f word, grid, block Dim, shared int, values []uint64) Code {
	var first *C.uint64_t
	if len(values) > 0 {
		first = (*C.uint64_t)(&values[0])
	}
	return Code(C.facetrack_cuda_launch(in[C.CUfunction](f),
		extent(grid.X), extent(grid.Y), extent(grid.Z), extent(block.X), extent(block.Y), extent(block.Z),
		C.uint(shared), in[C.CUstream](s), first, C.int(len(values))))
}

func extent(n int) C.uint { return C.uint(max(n, 1)) }

// Relaxed: goroutines move between threads, and a capture must not care which one ends it.
func (native) captureBegin(s word) Code {
	return Code(C.cuStreamBeginCapture_v2(in[C.CUstream](s), C.CU_STREAM_CAPTURE_MODE_RELAXED))
}

func (native) captureEnd(s word) (word, Code) {
	var g C.CUgraph
	c := C.cuStreamEndCapture(in[C.CUstream](s), &g)
	return out(g), Code(c)
}

func (native) graphInstantiate(g word) (word, Code) {
	var exec C.CUgraphExec
	c := C.cuGraphInstantiateWithFlags(&exec, in[C.CUgraph](g), 0)
	return out(exec), Code(c)
}

func (native) graphDestroy(g word) Code { return Code(C.cuGraphDestroy(in[C.CUgraph](g))) }

func (native) graphLaunch(exec, s word) Code {
	return Code(C.cuGraphLaunch(in[C.CUgraphExec](exec), in[C.CUstream](s)))
}

func (native) graphEnd(exec word) Code { return Code(C.cuGraphExecDestroy(in[C.CUgraphExec](exec))) }
