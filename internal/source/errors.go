package source

import "errors"

// Errors of this package. Every message around them names the file or device and what to do.
var (
	// ErrNotFound: no such file, folder, match or device.
	ErrNotFound = errors.New("not found")
	// ErrPermission: the file or device exists and may not be read.
	ErrPermission = errors.New("permission denied")
	// ErrCorrupt: the material cannot be decoded; the message names the place.
	ErrCorrupt = errors.New("corrupt")
	// ErrUnsupported: this build, or this program, cannot read such material.
	ErrUnsupported = errors.New("unsupported")
	// ErrSpec: the specification itself is wrong.
	ErrSpec = errors.New("bad source specification")
	// ErrLost: a live source went away. Reopen it with back-off; Reopener does.
	ErrLost = errors.New("camera lost")
	// ErrGeometry: from now on frames have another size or format; make a new ring for the new Info.
	ErrGeometry = errors.New("frame geometry changed")
	// ErrNoFrame: Retrieve was called before a successful Grab.
	ErrNoFrame = errors.New("no frame is grabbed")
	// ErrBuffer: the destination of Retrieve does not have the size of a frame.
	ErrBuffer = errors.New("wrong buffer size")
	// ErrClosed: the source is closed.
	ErrClosed = errors.New("source is closed")
)
