// Package recorder writes lines to a file so that a full disk or a crash never leaves half a line and never
// takes away a line that was written.
package recorder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"
)

// ErrStopped is wrapped by every error after which nothing more is recorded.
var ErrStopped = errors.New("recording stopped")

const (
	flushBytes = 256 << 10
	flushAfter = 500 * time.Millisecond
)

// File is a recording of lines. It is safe for concurrent use.
type File struct {
	path string

	mu      sync.Mutex
	f       *os.File
	pending []byte
	lines   int   // in pending
	size    int64 // bytes of whole lines in the file
	written uint64
	err     error // the first failure; nothing is written after it
	stop    chan struct{}
	done    chan struct{}
	closed  bool
}

// Create makes a new recording. An existing file is never overwritten.
func Create(path string) (*File, error) {
	f, err := CreateNew("recording", path)
	if err != nil {
		return nil, err
	}
	return start(path, f), nil
}

// CreateNew makes a file that must not be there yet, nor a link of that name. what names it in errors.
func CreateNew(what, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the operator names the file
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s %s exists and is left alone: choose another name or move it away", what, path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be made: %w", what, err)
	}
	return f, nil
}

func start(path string, f *os.File) *File {
	r := &File{path: path, f: f, stop: make(chan struct{}), done: make(chan struct{})}
	go r.flushRegularly()
	return r
}

// Line adds one line (without its end). It returns the failure that stopped the recording, if any.
func (r *File) Line(line []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	if r.closed {
		return fmt.Errorf("%w: %s is closed", ErrStopped, r.path)
	}
	r.pending = append(append(r.pending, line...), '\n')
	r.lines++
	if len(r.pending) >= flushBytes {
		r.flush()
	}
	return r.err
}

// Lines is how many lines are safely in the file, and Bytes their size.
func (r *File) Lines() (lines uint64, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.written, r.size
}

// Err is the failure that stopped the recording, if any.
func (r *File) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Path is the file's name.
func (r *File) Path() string { return r.path }

func (r *File) flushRegularly() {
	defer close(r.done)
	tick := time.NewTicker(flushAfter)
	defer tick.Stop()
	for {
		select {
		case <-r.stop:
			return
		case <-tick.C:
			r.mu.Lock()
			r.flush()
			r.mu.Unlock()
		}
	}
}

// flush writes the waiting lines; when that fails it cuts the file back to its last whole line.
func (r *File) flush() {
	if r.err != nil || len(r.pending) == 0 {
		return
	}
	n, err := r.f.Write(r.pending)
	if err == nil {
		r.size += int64(n)
		r.written += uint64(r.lines) //nolint:gosec // never negative
		r.pending, r.lines = r.pending[:0], 0
		return
	}
	whole := 0
	for i := range n {
		if r.pending[i] == '\n' {
			whole = i + 1
			r.written++
		}
	}
	r.size += int64(whole)
	cure := ""
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		cure = "; free space and record to a new file"
	}
	r.err = fmt.Errorf("%w: %w: %d lines are safe in %s%s", ErrStopped, err, r.written, r.path, cure)
	if terr := r.f.Truncate(r.size); terr != nil {
		r.err = fmt.Errorf("%w (the last line may be cut short: %w)", r.err, terr)
	}
}

// Close writes what is left and returns the failure that stopped the recording, if any.
func (r *File) Close() error {
	r.mu.Lock()
	if r.closed {
		defer r.mu.Unlock()
		return r.err
	}
	r.closed = true
	r.flush()
	r.mu.Unlock()
	close(r.stop)
	<-r.done
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.f.Close(); err != nil && r.err == nil {
		r.err = fmt.Errorf("%w: %w", ErrStopped, err)
	}
	return r.err
}
