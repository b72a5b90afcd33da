package xdf

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// output writes whole chunks, one write each, and boundaries between them.
type output struct {
	w       io.Writer
	file    *os.File // the file to cut and close; nil when it is not ours
	every   time.Duration
	marked  time.Time // of the last boundary
	size    int64     // bytes of whole chunks
	samples uint64    // written
	err     error     // the first failure; nothing is written after it
	buf     []byte
}

// start writes what every file begins with.
func (o *output) start() error {
	o.marked = time.Now()
	o.buf = appendChunk([]byte(magic), tagFileHeader, fileHeader(o.marked))
	return o.write("file header")
}

// chunk writes one chunk, and a boundary before it when one is due. what names it in errors.
func (o *output) chunk(what string, t tag, parts ...[]byte) error {
	if o.err != nil {
		return o.err
	}
	if now := time.Now(); now.Sub(o.marked) >= o.every {
		o.buf, o.marked = appendChunk(o.buf[:0], tagBoundary, boundary), now
		if err := o.write("boundary"); err != nil {
			return err
		}
	}
	o.buf = appendChunk(o.buf[:0], t, parts...)
	return o.write(what)
}

func (o *output) write(what string) error {
	n, err := o.w.Write(o.buf)
	if err == nil && n < len(o.buf) {
		err = io.ErrShortWrite
	}
	if err != nil {
		o.fail(what, err)
		return o.err
	}
	o.size += int64(n)
	return nil
}

// fail ends the recording and takes away what there is of the chunk that failed.
func (o *output) fail(what string, err error) {
	cure := ""
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		cure = "; free space and record to a new file"
	}
	o.err = fmt.Errorf("%w: %s: %w: %d samples are safe%s", ErrStopped, what, err, o.samples, cure)
	if o.file == nil {
		return
	}
	if err := o.file.Truncate(o.size); err != nil {
		o.err = fmt.Errorf("%w (the last chunk may be cut short: %w)", o.err, err)
	}
}

func (o *output) close() {
	if o.file == nil {
		return
	}
	if err := o.file.Close(); err != nil && o.err == nil {
		o.err = fmt.Errorf("%w: %w", ErrStopped, err)
	}
}
