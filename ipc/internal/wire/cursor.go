package wire

import (
	"errors"
	"fmt"
)

// Errors of a Cursor; a returned error wraps one of them and names the field.
var (
	ErrSyntax    = errors.New("malformed JSON")
	ErrType      = errors.New("value of another kind expected")
	ErrRange     = errors.New("number out of range")
	ErrTooMany   = errors.New("too many elements")
	ErrTooLong   = errors.New("string too long")
	ErrDuplicate = errors.New("field given twice")
	ErrMissing   = errors.New("field missing")
	ErrTooDeep   = errors.New("nested too deeply")
)

// maxDepth bounds the nesting of values that are skipped.
const maxDepth = 64

// Cursor reads one JSON text from front to back. After the first error every read returns a zero value.
type Cursor struct {
	data []byte
	pos  int
	path string
	err  error
}

// NewCursor returns a cursor at the beginning of data.
func NewCursor(data []byte) Cursor { return Cursor{data: data} }

// Err returns the first error with the path of its field.
func (c *Cursor) Err() error {
	switch {
	case c.err == nil:
		return nil
	case c.path == "":
		return c.err
	default:
		return fmt.Errorf("%s: %w", c.path, c.err)
	}
}

// Fail keeps err, unless there is one already, for the field being read.
func (c *Cursor) Fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// FailAt is Fail for a field inside the one being read.
func (c *Cursor) FailAt(field string, err error) {
	if c.err == nil {
		c.err, c.path = err, field
	}
}

// End checks that nothing but white space follows.
func (c *Cursor) End() {
	if c.err == nil && c.next() != 0 {
		c.unexpected(ErrSyntax, "end of the message")
	}
}

// next skips white space and returns the byte there, 0 at the end.
func (c *Cursor) next() byte {
	for c.pos < len(c.data) {
		switch b := c.data[c.pos]; b {
		case ' ', '\t', '\n', '\r':
			c.pos++
		case 0: // no JSON text holds a NUL, and 0 means the end here
			c.Fail(fmt.Errorf("%w: NUL at byte %d", ErrSyntax, c.pos))
			return 0
		default:
			return b
		}
	}
	return 0
}

// take consumes b if it is next.
func (c *Cursor) take(b byte) bool {
	if c.err != nil || c.next() != b {
		return false
	}
	c.pos++
	return true
}

// expect consumes b or fails.
func (c *Cursor) expect(b byte, what string) bool {
	if c.take(b) {
		return true
	}
	c.unexpected(ErrType, what)
	return false
}

func (c *Cursor) unexpected(kind error, what string) {
	if c.pos >= len(c.data) {
		c.Fail(fmt.Errorf("%w: message ends at byte %d, %s expected", ErrSyntax, c.pos, what))
		return
	}
	c.Fail(fmt.Errorf("%w: %s expected at byte %d, found %q", kind, what, c.pos, c.data[c.pos]))
}
