package cuda

import "fmt"

// Code is a number of the driver's CUresult; 0 is success.
type Code int

// Codes that callers tell apart.
const (
	InvalidValue      Code = 1
	OutOfMemory       Code = 2
	NotInitialized    Code = 3
	NoDevice          Code = 100
	InvalidDevice     Code = 101
	InvalidContext    Code = 201
	MapFailed         Code = 205
	AlreadyMapped     Code = 208
	PeerUnsupported   Code = 217
	InvalidHandle     Code = 400
	NotReady          Code = 600
	IllegalAddress    Code = 700
	PeerAlreadyOn     Code = 704
	HostAlreadyPinned Code = 712
	LaunchFailed      Code = 719
	NotPermitted      Code = 800
	NotSupported      Code = 801
	Unknown           Code = 999
)

// Error makes a Code a target of errors.Is.
func (c Code) Error() string { return fmt.Sprintf("CUDA error %d", int(c)) }

// Error is a failed driver call.
type Error struct {
	Call string // "cuIpcOpenMemHandle"
	Code Code
	Name string // "CUDA_ERROR_MAP_FAILED"
}

// failed is nil for code 0, else the Error of the call.
func failed(call string, code Code) error {
	if code == 0 {
		return nil
	}
	return &Error{Call: call, Code: code, Name: nameOf(code)}
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %s (%d)", e.Call, e.Name, int(e.Code))
	if m := e.meaning(); m != "" {
		text += ": " + m
	}
	return text
}

// Is makes errors.Is(err, cuda.MapFailed) work.
func (e *Error) Is(target error) bool {
	c, ok := target.(Code) //nolint:errorlint // an Is method compares with the target itself
	return ok && c == e.Code
}

// Sticky tells whether the context is lost with this error: every later call in this process fails as well, so that only a
// new process helps.
func (e *Error) Sticky() bool {
	switch e.Code {
	case 214, 220, IllegalAddress, 702, 709, 710, 714, 715, 716, 717, 718, LaunchFailed:
		return true
	}
	return false
}
