package lsl

import "errors"

// Errors of this package; compare with errors.Is.
var (
	// ErrInvalidInfo: the stream information or the options cannot be published as they are.
	ErrInvalidInfo = errors.New("lsl: invalid stream information")
	// ErrTimestamp: a sample carries a stamp that LSL cannot transport (0, -1, NaN or infinite).
	ErrTimestamp = errors.New("lsl: invalid timestamp")
	// ErrChannels: a sample has another number of values than the stream has channels.
	ErrChannels = errors.New("lsl: wrong number of values")
	// ErrFormat: a sample was pushed in another format than the stream has.
	ErrFormat = errors.New("lsl: wrong value format")
	// ErrTooLarge: a sample does not fit into the send buffer.
	ErrTooLarge = errors.New("lsl: sample too large")
	// ErrClosed: the outlet was closed.
	ErrClosed = errors.New("lsl: outlet is closed")
	// ErrInterface: a named network interface does not exist or is down.
	ErrInterface = errors.New("lsl: unusable network interface")
)

// Errors that end a request of a reader; they are logged, never returned to the caller of an Outlet.
var (
	errRequest     = errors.New("lsl: malformed request")
	errUnsupported = errors.New("lsl: unsupported request")
	errRefused     = errors.New("lsl: refused")
	errBudget      = errors.New("lsl: query needs too many steps")
)
