package ipc

import (
	"fmt"

	"facetrack/ipc/internal/wire"
)

// MaxSeqs bounds the sequence numbers of one Drop message.
const MaxSeqs = 4096

// Drop says that frames of a camera will not reach tracks: which, where they ended and why. The same frame
// may be announced again after a reconnection: count a set of sequence numbers, not messages.
type Drop struct {
	Camera string   `json:"camera"`
	Stage  string   `json:"stage"`  // a token: capture, detect, landmarks, tracker
	Reason string   `json:"reason"` // short, the same for each frame dropped for it
	Seqs   []uint64 `json:"seqs"`
}

// Ack says that a frame is done; capture may send the next (--pace max). It may come twice.
type Ack struct {
	Camera string `json:"camera"`
	Seq    uint64 `json:"seq"`
}

// EndWithoutFrames is the reason of an End whose LastSeq means nothing: the camera gave no frame at all.
const EndWithoutFrames = "no frames"

// EndOfSource is the reason of an End after the last frame of recorded material.
const EndOfSource = "end of source"

// EndCorrupt is the reason of an End because the material is damaged from here on.
const EndCorrupt = "corrupt"

// EndStopped is the reason of an End because capture was told to stop: the source has more, and the camera may be
// back when capture is.
const EndStopped = "stopped"

// EndRemoved is the reason of an End because the camera was taken out of the configuration.
const EndRemoved = "removed"

// End says that a camera has no more frames.
type End struct {
	Camera  string `json:"camera"`
	LastSeq uint64 `json:"last_seq"`
	Reason  string `json:"reason"`
}

var (
	dropFields = []string{"camera", "stage", "reason", "seqs"}
	ackFields  = []string{"camera", "seq"}
	endFields  = []string{"camera", "last_seq", "reason"}
)

// AppendJSON implements [Message].
func (d *Drop) AppendJSON(buf []byte) ([]byte, error) { return appendJSON(buf, d) }

func (d *Drop) encode(e *wire.Encoder) {
	encodeCamera(e, d.Camera)
	if err := d.check(); err != nil {
		e.Fail("", err)
	}
	tooMany(e, "seqs", len(d.Seqs), MaxSeqs)
	e.String(`,"stage":`, d.Stage)
	e.String(`,"reason":`, d.Reason)
	e.Uints(`,"seqs":`, d.Seqs)
	e.Raw("}")
}

func (d *Drop) check() error {
	if err := CheckToken("stage", d.Stage); err != nil {
		return err
	}
	if d.Reason == "" || len(d.Reason) > maxText {
		return fmt.Errorf("reason: %w: 1 to %d bytes expected", ErrInvalid, maxText)
	}
	return nil
}

func encodeCamera(e *wire.Encoder, camera string) {
	if err := CheckToken("camera", camera); err != nil {
		e.Fail("camera", err)
	}
	e.String(`{"camera":`, camera)
}

// DecodeDrop reads a drops message.
func DecodeDrop(data []byte) (Drop, error) {
	var d Drop
	c := wire.NewCursor(data)
	seen := c.Fields(dropFields, func(i int) {
		switch i {
		case 0:
			d.Camera = decodeCamera(&c)
		case 1:
			d.Stage = c.String(maxText)
		case 2:
			d.Reason = c.String(maxText)
		case 3:
			d.Seqs = c.Uints(MaxSeqs)
		}
	})
	c.Require(dropFields, seen, 1<<4-1)
	if err := d.check(); err != nil {
		c.Fail(err)
	}
	return d, finish(&c, "drop")
}

func decodeCamera(c *wire.Cursor) string {
	s := c.String(maxText)
	if err := CheckToken("camera", s); err != nil {
		c.Fail(err)
	}
	return s
}

// AppendJSON implements [Message].
func (a *Ack) AppendJSON(buf []byte) ([]byte, error) { return appendJSON(buf, a) }

func (a *Ack) encode(e *wire.Encoder) {
	encodeCamera(e, a.Camera)
	e.Uint(`,"seq":`, a.Seq)
	e.Raw("}")
}

// DecodeAck reads an ack message.
func DecodeAck(data []byte) (Ack, error) {
	var a Ack
	c := wire.NewCursor(data)
	seen := c.Fields(ackFields, func(i int) {
		switch i {
		case 0:
			a.Camera = decodeCamera(&c)
		case 1:
			a.Seq = c.Uint()
		}
	})
	c.Require(ackFields, seen, 1<<2-1)
	return a, finish(&c, "ack")
}

// AppendJSON implements [Message].
func (m *End) AppendJSON(buf []byte) ([]byte, error) { return appendJSON(buf, m) }

func (m *End) encode(e *wire.Encoder) {
	encodeCamera(e, m.Camera)
	e.Uint(`,"last_seq":`, m.LastSeq)
	e.String(`,"reason":`, m.Reason)
	e.Raw("}")
}

// DecodeEnd reads an end message.
func DecodeEnd(data []byte) (End, error) {
	var m End
	c := wire.NewCursor(data)
	seen := c.Fields(endFields, func(i int) {
		switch i {
		case 0:
			m.Camera = decodeCamera(&c)
		case 1:
			m.LastSeq = c.Uint()
		case 2:
			m.Reason = c.String(maxText)
		}
	})
	c.Require(endFields, seen, 1<<2-1)
	return m, finish(&c, "end")
}
