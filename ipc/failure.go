package ipc

import (
	"errors"
	"fmt"
	"strings"

	"facetrack/gpuring"
	"facetrack/internal/cuda"
)

// failure is what is known when the cuda rung gives up.
type failure struct {
	err     error
	capture gpuring.DeviceMemory
	uid     int    // of capture
	host    string // of capture, when it is another than here
	samePID bool   // capture's process id is this one's
	wanted  string // the configured GPU
	device  cuda.Device
	here    []cuda.Device
	wsl     bool
	sync    gpuring.Sync
}

// driver returns the driver's error, empty when the failure is another.
func (f *failure) driver() cuda.Error {
	var e *cuda.Error
	if errors.As(f.err, &e) {
		return *e
	}
	return cuda.Error{}
}

// at tells whether the driver call failed, with the code unless that is 0.
func (f *failure) at(call string, code cuda.Code) bool {
	e := f.driver()
	return e.Call == call && (code == 0 || e.Code == code)
}

// eventsOnly tells whether only the configuration forbids to wait by memory operations.
func (f *failure) eventsOnly() bool { return f.sync == gpuring.SyncEvents && f.device.MemOps64 }

func (f *failure) visible() string {
	if len(f.here) == 0 {
		return "none is"
	}
	names := make([]string, len(f.here))
	for i, d := range f.here {
		names[i] = d.ID()
	}
	return strings.Join(names, ", ")
}

// reason returns the sentence for the failure.
func (f *failure) reason() string {
	for _, c := range causes {
		if c.is(f) {
			return c.say(f) + f.numbers()
		}
	}
	return "device memory cannot be read, facetrack doctor looks further: " + oneLine(f.err)
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// numbers names the driver's error, for those who search for it.
func (f *failure) numbers() string {
	if e := f.driver(); e.Call != "" {
		return fmt.Sprintf(" [%s: %s (%d)]", e.Call, e.Name, int(e.Code))
	}
	return ""
}

// explained is an error whose text is for people; what is under it is for errors.Is.
type explained struct {
	text string
	err  error
}

func (e *explained) Error() string { return e.text }
func (e *explained) Unwrap() error { return e.err }
