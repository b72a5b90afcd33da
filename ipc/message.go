package ipc

import (
	"fmt"

	"facetrack/ipc/internal/wire"
)

// Points are N points [x,y,z] in pixels of the full-resolution frame, origin top left, x right, y down;
// z has the scale of x and grows away from the camera. A message carries them to 0.01 px.
type Points [][3]float32

// Message is anything that is published: it appends its JSON to a buffer.
type Message interface {
	// AppendJSON appends the message to buf and returns the longer buffer. An impossible value, NaN or an
	// infinity is an error that names the field; the buffer is then nil.
	AppendJSON(buf []byte) ([]byte, error)
}

// Decimals that messages carry.
const (
	pixelDecimals      = 2 // 0.01 px
	poseDecimals       = 3 // 0.001 degrees, 0.01 mm
	directionDecimals  = 4 // 0.006 degrees
	scoreDecimals      = 5 // scores, blendshapes, radians
	confidenceDecimals = 2
)

// coder is one message or part of one, written and read field by field.
type coder interface{ encode(e *wire.Encoder) }

func appendJSON(buf []byte, m coder) ([]byte, error) {
	var e wire.Encoder
	e.Reset(buf)
	m.encode(&e)
	out, err := e.Result()
	if err != nil {
		return nil, fmt.Errorf("ipc: encode %T: %w", m, err)
	}
	return out, nil
}

// finish closes a decoding: nothing may follow, and the error names the kind of message.
func finish(c *wire.Cursor, kind string) error {
	c.End()
	if err := c.Err(); err != nil {
		return fmt.Errorf("ipc: decode %s: %w", kind, err)
	}
	return nil
}

// decodeResult reads a per-frame message: the identity, then the fields of names by read.
// names begins with frameFields; of those that follow, counted from 0, the bits in required must be there.
func decodeResult(c *wire.Cursor, f *Frame, names []string, required uint64, read func(i int)) {
	seen := c.Fields(names, func(i int) {
		if i < len(frameFields) {
			f.decodeField(c, i)
		} else {
			read(i - len(frameFields))
		}
	})
	c.Require(names, seen, required<<len(frameFields))
	f.finish(c, seen)
}

// tooMany is the error of a list longer than its limit, nil when it is not.
func tooMany(e *wire.Encoder, key string, n, limit int) {
	if n > limit {
		e.Fail(key, fmt.Errorf("%w: %d, at most %d", wire.ErrTooMany, n, limit))
	}
}
