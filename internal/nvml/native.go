//go:build cuda

package nvml

/*
#cgo LDFLAGS: -ldl
#include "calls.h"
*/
import "C"

import (
	"fmt"
	"sync"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"facetrack/internal/fault"
)

// native is the library through go-nvml.
type native struct{ nvml.Interface }

// load looks the library up once it is needed; it stays for the life of the process.
var load = sync.OnceValues(func() (nvml.Interface, error) {
	var text [256]C.char
	name := C.facetrack_nvml_load(&text[0], C.int(len(text)))
	if name == nil {
		return nil, fmt.Errorf("%w (%s)", ErrNoLibrary, C.GoString(&text[0]))
	}
	return nvml.New(nvml.WithLibraryPath(C.GoString(name))), nil
})

func open() (backend, error) {
	library, err := load()
	if err != nil {
		return nil, err
	}
	if err := call("nvmlInit", library.Init); err != nil {
		return nil, err
	}
	return native{library}, nil
}

// call makes a call that returns a status alone; every call goes through here or through value.
func call(name string, f func() nvml.Return) error {
	if code := fault.Code(name); code != 0 {
		return failed(name, nvml.Return(code))
	}
	return failed(name, f())
}

// value makes a call that returns a value and a status.
func value[T any](name string, f func() (T, nvml.Return)) (v T, err error) {
	err = call(name, func() (r nvml.Return) {
		v, r = f()
		return r
	})
	return v, err
}

func failed(name string, r nvml.Return) error {
	if r == nvml.SUCCESS {
		return nil
	}
	return &Error{Call: name, Code: int(r), Text: nvml.ErrorString(r)}
}

func (n native) shutdown() error { return call("nvmlShutdown", n.Shutdown) }
func (n native) driver() (string, error) {
	return value("nvmlSystemGetDriverVersion", n.SystemGetDriverVersion)
}
func (n native) count() (int, error) { return value("nvmlDeviceGetCount", n.DeviceGetCount) }

func (n native) at(index int) (handle, error) {
	d, err := value("nvmlDeviceGetHandleByIndex", func() (nvml.Device, nvml.Return) { return n.DeviceGetHandleByIndex(index) })
	return gpu{d}, err
}

func (n native) byUUID(uuid string) (handle, error) {
	d, err := value("nvmlDeviceGetHandleByUUID", func() (nvml.Device, nvml.Return) { return n.DeviceGetHandleByUUID(uuid) })
	return gpu{d}, err
}
