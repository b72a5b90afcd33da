package ipc

import (
	"fmt"
	"strings"

	"facetrack/ipc/internal/wire"
)

// EventTransport is the event of pixels that reach a stage in another way than before.
const EventTransport = "transport"

// Event is something that happens to a camera, for people, logs and the marker stream.
type Event struct {
	Camera string `json:"camera"`
	Stage  string `json:"stage"`  // which tells it
	Event  string `json:"event"`  // as EventTransport
	Value  string `json:"value"`  // the transport; empty while there is none
	Reason string `json:"reason"` // why, for people
	TimeNS int64  `json:"t_ns"`   // when, CLOCK_MONOTONIC
}

var eventFields = []string{"camera", "stage", "event", "value", "reason", "t_ns"}

// maxReason bounds the reason of an event, bytes.
const maxReason = 1024

// AppendJSON implements [Message].
func (e *Event) AppendJSON(buf []byte) ([]byte, error) { return appendJSON(buf, e) }

func (e *Event) encode(w *wire.Encoder) {
	encodeCamera(w, e.Camera)
	if err := e.check(); err != nil {
		w.Fail("", err)
	}
	w.String(`,"stage":`, e.Stage)
	w.String(`,"event":`, e.Event)
	w.String(`,"value":`, e.Value)
	w.String(`,"reason":`, shorten(e.Reason, maxReason))
	w.Int(`,"t_ns":`, e.TimeNS)
	w.Raw("}")
}

func (e *Event) check() error {
	if e.Event == "" || len(e.Event) > maxText || len(e.Value) > maxText {
		return fmt.Errorf("event: %w: 1 to %d bytes expected, and a value of no more", ErrInvalid, maxText)
	}
	return CheckToken("stage", e.Stage)
}

// shorten cuts a text between two characters.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}

// DecodeEvent reads an events message.
func DecodeEvent(data []byte) (Event, error) {
	var e Event
	c := wire.NewCursor(data)
	seen := c.Fields(eventFields, func(i int) {
		switch i {
		case 0:
			e.Camera = decodeCamera(&c)
		case 1:
			e.Stage = c.String(maxText)
		case 2:
			e.Event = c.String(maxText)
		case 3:
			e.Value = c.String(maxText)
		case 4:
			e.Reason = c.String(maxReason)
		case 5:
			e.TimeNS = c.Int()
		}
	})
	c.Require(eventFields, seen, 1<<0|1<<1|1<<2|1<<5)
	if err := e.check(); err != nil {
		c.Fail(err)
	}
	return e, finish(&c, "event")
}
