package ipc

import (
	"fmt"

	"facetrack/ipc/internal/wire"
)

// Pose is where a head is and where it looks.
type Pose struct {
	Pitch float64 `json:"pitch"` // degrees
	Yaw   float64 `json:"yaw"`   // degrees
	Roll  float64 `json:"roll"`  // degrees
	X     float64 `json:"x_cm"`  // camera frame: x right, cm
	Y     float64 `json:"y_cm"`  // y down, cm
	Z     float64 `json:"z_cm"`  // z forward, cm
}

// RawFace is a face before smoothing.
type RawFace struct {
	Pose        *Pose     `json:"pose"`
	Gaze        *Gaze     `json:"gaze"`
	Blendshapes []float64 `json:"blendshapes"`
	Points      Points    `json:"points"`
}

// TrackedFace is one face with an identity that lasts over frames.
type TrackedFace struct {
	ID          int        `json:"id"`
	Box         [4]float64 `json:"box"` // x, y, width, height; px of the full-resolution frame
	Score       float64    `json:"score"`
	Pose        *Pose      `json:"pose"` // nil when no head pose explains the points
	Gaze        *Gaze      `json:"gaze"` // nil when neither eye shows where it looks
	Blendshapes []float64  `json:"blendshapes"`
	Points      Points     `json:"points"`
	Raw         *RawFace   `json:"raw,omitempty"`
	Participant string     `json:"participant,omitempty"` // whom the configuration names, if it is one of them
	Confidence  []float64  `json:"confidence,omitempty"`  // as in FaceLandmarks
}

// Tracks are the faces of one frame, and what detection and landmarks need to know about the next.
type Tracks struct {
	Frame
	Topology string        `json:"topology"` // as package topology names it; empty in old recordings
	Faces    []TrackedFace `json:"faces"`
	Lost     []int         `json:"lost,omitempty"` // identities lost on this frame
}

var (
	tracksFields  = append(frameFields[:len(frameFields):len(frameFields)], "topology", "faces", "lost")
	trackedFields = []string{"id", "box", "score", "pose", "gaze", "blendshapes", "points", "raw", "participant", "confidence"}
	rawFields     = []string{"pose", "gaze", "blendshapes", "points"}
	poseFields    = []string{"pitch", "yaw", "roll", "x_cm", "y_cm", "z_cm"}
)

// maxLost bounds the identities lost on one frame.
const maxLost = 2 * MaxFaces

// AppendJSON implements [Message].
func (m *Tracks) AppendJSON(buf []byte) ([]byte, error) { return appendJSON(buf, m) }

func (m *Tracks) encode(e *wire.Encoder) {
	m.Frame.encode(e)
	e.String(`,"topology":`, m.Topology)
	tooMany(e, "faces", len(m.Faces), MaxFaces)
	e.Each(`,"faces":`, len(m.Faces), func(i int) { m.Faces[i].encode(e) })
	if len(m.Lost) > 0 {
		tooMany(e, "lost", len(m.Lost), maxLost)
		e.Ints(`,"lost":`, m.Lost)
	}
	e.Raw("}")
}

func (f *TrackedFace) encode(e *wire.Encoder) {
	e.Int(`{"id":`, int64(f.ID))
	e.Floats(`,"box":`, f.Box[:], pixelDecimals)
	e.Float(`,"score":`, f.Score, scoreDecimals)
	e.Raw(`,"pose":`)
	f.Pose.encode(e)
	e.Raw(`,"gaze":`)
	f.Gaze.encode(e)
	encodeShape(e, f.Points, f.Blendshapes)
	if f.Raw != nil {
		e.Raw(`,"raw":{"pose":`)
		f.Raw.Pose.encode(e)
		e.Raw(`,"gaze":`)
		f.Raw.Gaze.encode(e)
		encodeShape(e, f.Raw.Points, f.Raw.Blendshapes)
		e.Raw("}")
	}
	if f.Participant != "" {
		if err := CheckToken("participant", f.Participant); err != nil {
			e.Fail("", err)
		}
		e.String(`,"participant":`, f.Participant)
	}
	encodeConfidence(e, f.Confidence)
	e.Raw("}")
}

func (p *Pose) encode(e *wire.Encoder) {
	if p == nil {
		e.Raw("null")
		return
	}
	e.Float(`{"pitch":`, p.Pitch, poseDecimals)
	e.Float(`,"yaw":`, p.Yaw, poseDecimals)
	e.Float(`,"roll":`, p.Roll, poseDecimals)
	e.Float(`,"x_cm":`, p.X, poseDecimals)
	e.Float(`,"y_cm":`, p.Y, poseDecimals)
	e.Float(`,"z_cm":`, p.Z, poseDecimals)
	e.Raw("}")
}

// DecodeTracks reads a tracks message.
func DecodeTracks(data []byte) (Tracks, error) { return decodeTracks(data, (*TrackedFace).decode) }

// DecodeTracksWithoutPoints leaves out points, their confidence and raw values, which are most of a message, and does not check them.
func DecodeTracksWithoutPoints(data []byte) (Tracks, error) {
	return decodeTracks(data, (*TrackedFace).decodeWithoutPoints)
}

func decodeTracks(data []byte, face func(*TrackedFace, *wire.Cursor)) (Tracks, error) {
	var m Tracks
	c := wire.NewCursor(data)
	decodeResult(&c, &m.Frame, tracksFields, 1<<1, func(i int) {
		switch i {
		case 0:
			m.Topology = c.String(maxText)
		case 1:
			m.Faces = decodeFaces(&c, face)
		case 2:
			m.Lost = c.Sizes(maxLost)
		}
	})
	return m, finish(&c, "tracks")
}

// PeekTracks reads the identity of a tracks message and the identities in it, a fifth of the work of reading all. What it passes over
// is not checked.
func PeekTracks(data []byte) (f Frame, ids []int, err error) {
	const faces = 1
	c := wire.NewCursor(data)
	all, early := uint64(peekable)|1<<(len(frameFields)+faces), false
	seen := c.FieldsWhile(tracksFields, func(i int, seen uint64) bool {
		switch {
		case seen&all == all:
			early = true
			return false
		case i >= 0 && i < len(frameFields):
			f.decodeField(&c, i)
		case i == len(frameFields)+faces:
			c.Elements(MaxFaces, func(int) { ids = append(ids, peekID(&c)) })
		default:
			c.Pass()
		}
		return true
	})
	c.Require(tracksFields, seen, 1<<(len(frameFields)+faces))
	f.finish(&c, seen)
	if !early {
		return f, ids, finish(&c, "tracks")
	}
	if err := c.Err(); err != nil {
		return f, ids, fmt.Errorf("ipc: peek: %w", err)
	}
	return f, ids, nil
}

// peekID reads the identity of a face.
func peekID(c *wire.Cursor) (id int) {
	seen := c.FieldsWhile(trackedFields[:1], func(i int, _ uint64) bool {
		if i == 0 {
			id = c.Size()
		} else {
			c.Pass()
		}
		return true
	})
	c.Require(trackedFields, seen, 1)
	return id
}

func (f *TrackedFace) decode(c *wire.Cursor)              { f.decodeParts(c, true) }
func (f *TrackedFace) decodeWithoutPoints(c *wire.Cursor) { f.decodeParts(c, false) }

func (f *TrackedFace) decodeParts(c *wire.Cursor, points bool) {
	seen := c.Fields(trackedFields, func(i int) {
		if !points && (i == 6 || i == 7 || i == 9) {
			c.Pass()
			return
		}
		switch i {
		case 0:
			f.ID = c.Size()
		case 1:
			c.Fixed(f.Box[:])
		case 2:
			f.Score = c.Float()
		case 3:
			f.Pose = decodePose(c)
		case 4:
			f.Gaze = decodeGaze(c)
		case 5:
			f.Blendshapes = c.Floats(MaxBlendshapes)
		case 6:
			f.Points = c.Points3(MaxPoints)
		case 7:
			f.Raw = decodeRaw(c)
		case 8:
			if f.Participant = c.String(maxText); f.Participant != "" {
				c.Fail(CheckToken("participant", f.Participant))
			}
		case 9:
			f.Confidence = c.Floats(MaxPoints)
		}
	})
	c.Require(trackedFields, seen, 1<<0|1<<1|1<<3)
	checkBox(c, &f.Box)
}

func decodeRaw(c *wire.Cursor) *RawFace {
	if c.Null() {
		return nil
	}
	r := new(RawFace)
	c.Fields(rawFields, func(i int) {
		switch i {
		case 0:
			r.Pose = decodePose(c)
		case 1:
			r.Gaze = decodeGaze(c)
		case 2:
			r.Blendshapes = c.Floats(MaxBlendshapes)
		case 3:
			r.Points = c.Points3(MaxPoints)
		}
	})
	return r
}

func decodePose(c *wire.Cursor) *Pose {
	if c.Null() {
		return nil
	}
	p := new(Pose)
	into := [...]*float64{&p.Pitch, &p.Yaw, &p.Roll, &p.X, &p.Y, &p.Z}
	c.Fields(poseFields, func(i int) { *into[i] = c.Float() })
	return p
}
