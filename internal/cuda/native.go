//go:build cuda

package cuda

/*
// The build needs no toolkit: these are our own declarations and an empty libcuda.a (see include/cuda.h). gorgonia.org/cu
// needs them as well, through CGO_CFLAGS and CGO_LDFLAGS; the Makefile sets both.
#cgo CFLAGS: -I${SRCDIR}/include
#cgo LDFLAGS: -L${SRCDIR}/lib -ldl
#include "calls.h"
*/
import "C"

import (
	"fmt"
	"reflect"
	"unsafe"

	"gorgonia.org/cu"
)

// native is the driver through gorgonia.org/cu and, for what that lacks, through cgo of this package.
type native struct{}

// loadDriver loads a library. An error when it is none; else the status of cuInit.
func loadDriver(library string) (driver, Code, error) {
	name := C.CString(library)
	defer C.free(unsafe.Pointer(name))
	var text [256]C.char
	status := C.facetrack_cuda_load(name, &text[0], C.int(len(text)))
	if status < 0 {
		return nil, 0, fmt.Errorf("%w (%s)", ErrNoDriver, C.GoString(&text[0]))
	}
	return native{}, Code(status), nil
}

// code is the number of one of cu's errors; its type is not exported.
func code(err error) Code {
	if err == nil {
		return 0
	}
	if v := reflect.ValueOf(err); v.CanInt() {
		return Code(v.Int())
	}
	return Unknown
}

// In cu the objects of the driver are structures of one pointer, and not all of their types have a way in or out. The
// types in use are as large as a word, or this does not compile.
var (
	_ [unsafe.Sizeof(word(0))]byte = [unsafe.Sizeof(cu.CUContext{})]byte{}
	_ [unsafe.Sizeof(word(0))]byte = [unsafe.Sizeof(cu.Stream{})]byte{}
	_ [unsafe.Sizeof(word(0))]byte = [unsafe.Sizeof(cu.Event{})]byte{}
	_ [unsafe.Sizeof(word(0))]byte = [unsafe.Sizeof(cu.Module{})]byte{}
	_ [unsafe.Sizeof(word(0))]byte = [unsafe.Sizeof(cu.Function{})]byte{}
)

func in[T any](w word) T  { return *(*T)(unsafe.Pointer(&w)) }
func out[T any](t T) word { return *(*word)(unsafe.Pointer(&t)) }

func stream(w word) cu.Stream { return in[cu.Stream](w) }
func event(w word) cu.Event   { return in[cu.Event](w) }

func (native) errorName(c Code) string {
	var name *C.char
	if C.cuGetErrorName(C.CUresult(c), &name) != 0 || name == nil {
		return ""
	}
	return C.GoString(name)
}

func (native) version() (int, Code) {
	var v C.int
	c := C.cuDriverGetVersion(&v)
	return int(v), Code(c)
}
