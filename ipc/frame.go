package ipc

import (
	"errors"
	"fmt"

	"facetrack/gpuring"
	"facetrack/ipc/internal/wire"
)

// Limits of what a message may hold; a decoder refuses more.
const (
	MaxFaces       = 64
	MaxPoints      = 1024
	MaxKeyPoints   = 64
	MaxBlendshapes = 256
	MaxAppearance  = 2048
	MaxSide        = 1 << 16 // of a frame, px
	maxText        = 128     // of a ring id, a topology, a reason
)

// ErrInvalid says that a field of a message has a value it cannot have; the error names the field.
var ErrInvalid = errors.New("invalid value")

// Frame is the identity of a frame, repeated first in every per-frame message. Times are nanoseconds.
type Frame struct {
	Camera     string `json:"camera"`
	Seq        uint64 `json:"seq"`          // gap-free per camera, from 0
	CaptureNS  int64  `json:"t_capture_ns"` // CLOCK_MONOTONIC of the capture, the clock of LSL
	WallNS     int64  `json:"t_wall_ns"`    // wall clock of the capture, since the Unix epoch
	Ring       string `json:"ring"`         // ring id, <rig>/<camera>/<generation>
	Slot       int    `json:"slot"`
	Generation uint64 `json:"generation"` // of the slot: which of its frames this is
	Width      int    `json:"width"`      // px
	Height     int    `json:"height"`     // px
	Format     string `json:"format"`     // a gpuring.Format
	Stamps     Stamps `json:"t_ns"`
	MediaNS    int64  `json:"t_media_ns,omitempty"` // recorded material up to and including this frame; absent for live cameras
	Ack        bool   `json:"ack,omitempty"`        // the producer waits for an Ack when the frame is done
}

// Stamps are the CLOCK_MONOTONIC nanoseconds at which each stage published; 0 is not yet.
type Stamps struct {
	Capture   int64 `json:"capture,omitempty"`
	Detect    int64 `json:"detect,omitempty"`
	Landmarks int64 `json:"landmarks,omitempty"`
	Tracks    int64 `json:"tracks,omitempty"`
}

// Ticket is what the ring needs to lease the frame's slot.
func (f *Frame) Ticket() gpuring.Ticket {
	return gpuring.Ticket{RingID: f.Ring, Slot: f.Slot, Generation: f.Generation, Seq: f.Seq}
}

// Identity returns the frame itself, also from a message that embeds it.
func (f *Frame) Identity() *Frame { return f }

// check returns the name of the first field with an impossible value, and why.
func (f *Frame) check() (field string, err error) {
	switch {
	case !ValidToken(f.Camera):
		return "camera", CheckToken("camera", f.Camera)
	case f.Ring == "" || len(f.Ring) > maxText:
		return "ring", fmt.Errorf("%w: a ring id of 1 to %d bytes expected", ErrInvalid, maxText)
	case f.Slot < 0:
		return "slot", fmt.Errorf("%w: %d is negative", ErrInvalid, f.Slot)
	case f.Width <= 0 || f.Width > MaxSide:
		return "width", fmt.Errorf("%w: %d, 1 to %d px expected", ErrInvalid, f.Width, MaxSide)
	case f.Height <= 0 || f.Height > MaxSide:
		return "height", fmt.Errorf("%w: %d, 1 to %d px expected", ErrInvalid, f.Height, MaxSide)
	case !knownFormat(gpuring.Format(f.Format)):
		return "format", fmt.Errorf("%w: %.16q, BGR, NV12 or YUYV expected", ErrInvalid, f.Format)
	}
	return "", nil
}

func knownFormat(f gpuring.Format) bool {
	return f == gpuring.BGR || f == gpuring.NV12 || f == gpuring.YUYV
}

var (
	frameFields = []string{"camera", "seq", "t_capture_ns", "t_wall_ns", "ring", "slot", "generation", "width", "height", "format", "t_ns", "t_media_ns", "ack"}
	stampFields = []string{"capture", "detect", "landmarks", "tracks"}
	stampKeys   = [...]string{`"capture":`, `"detect":`, `"landmarks":`, `"tracks":`}
)

// frameRequired is the bit set of frameFields that every message must have: all but t_wall_ns and
// what follows format.
const frameRequired = 1<<10 - 1 - 1<<3

func (f *Frame) encode(e *wire.Encoder) {
	if field, err := f.check(); err != nil {
		e.Fail(field, err)
		return
	}
	e.String(`{"camera":`, f.Camera)
	e.Uint(`,"seq":`, f.Seq)
	e.Int(`,"t_capture_ns":`, f.CaptureNS)
	e.Int(`,"t_wall_ns":`, f.WallNS)
	e.String(`,"ring":`, f.Ring)
	e.Int(`,"slot":`, int64(f.Slot))
	e.Uint(`,"generation":`, f.Generation)
	e.Int(`,"width":`, int64(f.Width))
	e.Int(`,"height":`, int64(f.Height))
	e.String(`,"format":`, f.Format)
	f.Stamps.encode(e)
	if f.MediaNS != 0 {
		e.Int(`,"t_media_ns":`, f.MediaNS)
	}
	if f.Ack {
		e.Bool(`,"ack":`, true)
	}
}

func (s *Stamps) encode(e *wire.Encoder) {
	e.Raw(`,"t_ns":{`)
	separator := ""
	for i, v := range [...]int64{s.Capture, s.Detect, s.Landmarks, s.Tracks} {
		if v != 0 {
			e.Raw(separator)
			e.Int(stampKeys[i], v)
			separator = ","
		}
	}
	e.Raw("}")
}

// decodeField reads the field frameFields[i].
func (f *Frame) decodeField(c *wire.Cursor, i int) {
	switch i {
	case 0:
		f.Camera = c.String(maxText)
	case 1:
		f.Seq = c.Uint()
	case 2:
		f.CaptureNS = c.Int()
	case 3:
		f.WallNS = c.Int()
	case 4:
		f.Ring = c.String(maxText)
	case 5:
		f.Slot = c.Size()
	case 6:
		f.Generation = c.Uint()
	case 7:
		f.Width = c.Size()
	case 8:
		f.Height = c.Size()
	case 9:
		f.Format = c.String(maxText)
	case 10:
		f.Stamps.decode(c)
	case 11:
		f.MediaNS = c.Int()
	case 12:
		f.Ack = c.Bool()
	}
}

func (s *Stamps) decode(c *wire.Cursor) {
	into := [...]*int64{&s.Capture, &s.Detect, &s.Landmarks, &s.Tracks}
	c.Fields(stampFields, func(i int) { *into[i] = c.Int() })
}

// finish checks the identity after its fields in seen were read.
func (f *Frame) finish(c *wire.Cursor, seen uint64) {
	c.Require(frameFields, seen, frameRequired)
	if field, err := f.check(); err != nil {
		c.FailAt(field, err)
	}
}
