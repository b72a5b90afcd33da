package xdf

import "errors"

// Errors of this package; compare with errors.Is.
var (
	// ErrStopped: something could not be written, and nothing is recorded after it. It comes with the system's error.
	ErrStopped = errors.New("xdf: recording stopped")
	// ErrClosed: the writer or the stream was closed.
	ErrClosed = errors.New("xdf: closed")
	// ErrFormat: a sample was pushed in another format than the stream has.
	ErrFormat = errors.New("xdf: wrong value format")
	// ErrChannels: a sample has another number of values than the stream has channels.
	ErrChannels = errors.New("xdf: wrong number of values")
	// ErrTimestamp: a stamp or clock offset is not a finite number, a stamp is 0, or it cannot be deduced.
	ErrTimestamp = errors.New("xdf: invalid timestamp")
)
