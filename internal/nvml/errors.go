package nvml

import (
	"errors"
	"fmt"
)

// Errors that callers tell apart; the library's own are *Error.
var (
	ErrNotBuilt     = errors.New("this program was built without CUDA: build it with make build")
	ErrNoLibrary    = errors.New("no NVIDIA management library: libnvidia-ml.so.1 is not here; it comes with the driver")
	ErrNotSupported = errors.New("nvml: not supported by this GPU or driver")
	ErrNoSuchDevice = errors.New("nvml: no such GPU here")
	ErrClosed       = errors.New("nvml: closed")
)

// Numbers of the library's nvmlReturn_t.
const (
	notSupported     = 3
	notFound         = 6
	functionNotFound = 13
	versionMismatch  = 25
)

// Error is a failed call.
type Error struct {
	Call string // "nvmlDeviceGetMemoryInfo"
	Code int    // nvmlReturn_t
	Text string // what the library says of the code
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s (%d)", e.Call, e.Text, e.Code) }

// Is sorts the codes under ErrNotSupported and ErrNoSuchDevice.
func (e *Error) Is(target error) bool {
	switch e.Code {
	case notSupported, functionNotFound, versionMismatch:
		return target == ErrNotSupported //nolint:errorlint // an Is method compares with the target itself
	case notFound:
		return target == ErrNoSuchDevice //nolint:errorlint // as above
	}
	return false
}
