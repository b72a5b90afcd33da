package ipc

import (
	"fmt"

	"facetrack/ipc/internal/wire"
)

// AppendJSON implements [Message].
func (f *Frame) AppendJSON(buf []byte) ([]byte, error) { return appendJSON(buf, (*frameMessage)(f)) }

// frameMessage is a Frame as a message of its own.
type frameMessage Frame

func (f *frameMessage) encode(e *wire.Encoder) {
	(*Frame)(f).encode(e)
	e.Raw("}")
}

// DecodeFrame reads a frame message.
func DecodeFrame(data []byte) (Frame, error) {
	var f Frame
	c := wire.NewCursor(data)
	decodeResult(&c, &f, frameFields, 0, nil)
	return f, finish(&c, "frame")
}

// peekable are the fields that come first in every message as this package writes it; t_media_ns and ack may follow.
const peekable = 1<<11 - 1

// PeekFrame reads the identity of any per-frame message and no further, so that what follows costs nothing
// and is not checked. A message that does not begin with its identity is read to the end.
func PeekFrame(data []byte) (Frame, error) {
	var f Frame
	c := wire.NewCursor(data)
	early := false
	seen := c.FieldsWhile(frameFields, func(i int, seen uint64) bool {
		switch {
		case i >= 0:
			f.decodeField(&c, i)
		case seen&peekable == peekable:
			early = true
			return false
		default:
			c.Skip()
		}
		return true
	})
	f.finish(&c, seen)
	if early {
		if err := c.Err(); err != nil {
			return f, fmt.Errorf("ipc: peek: %w", err)
		}
		return f, nil
	}
	return f, finish(&c, "identity")
}
