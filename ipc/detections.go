package ipc

import "facetrack/ipc/internal/wire"

// Detection is one face that the detector found.
type Detection struct {
	Box       [4]float64   `json:"box"`       // x, y, width, height; px of the full-resolution frame, origin top left
	Score     float64      `json:"score"`     // 0 to 1
	KeyPoints [][2]float64 `json:"keypoints"` // px: the subject's right eye, left eye, nose tip, and what else the detector gives
}

// Detections are the faces of one frame; every frame has one message, with Ran false where the detector did not look.
type Detections struct {
	Frame
	Ran      bool        `json:"ran"`
	Detector string      `json:"detector,omitempty"`
	Faces    []Detection `json:"faces"`
}

var (
	detectionsFields = append(frameFields[:len(frameFields):len(frameFields)], "ran", "detector", "faces")
	detectionFields  = []string{"box", "score", "keypoints"}
)

// AppendJSON implements [Message].
func (m *Detections) AppendJSON(buf []byte) ([]byte, error) { return appendJSON(buf, m) }

func (m *Detections) encode(e *wire.Encoder) {
	m.Frame.encode(e)
	e.Bool(`,"ran":`, m.Ran)
	if m.Detector != "" {
		e.String(`,"detector":`, m.Detector)
	}
	tooMany(e, "faces", len(m.Faces), MaxFaces)
	e.Each(`,"faces":`, len(m.Faces), func(i int) { m.Faces[i].encode(e) })
	e.Raw("}")
}

func (d *Detection) encode(e *wire.Encoder) {
	e.Floats(`{"box":`, d.Box[:], pixelDecimals)
	e.Float(`,"score":`, d.Score, scoreDecimals)
	tooMany(e, "keypoints", len(d.KeyPoints), MaxKeyPoints)
	e.Points2(`,"keypoints":`, d.KeyPoints, pixelDecimals)
	e.Raw("}")
}

// DecodeDetections reads a detections message.
func DecodeDetections(data []byte) (Detections, error) {
	var m Detections
	c := wire.NewCursor(data)
	decodeResult(&c, &m.Frame, detectionsFields, 1<<0|1<<2, func(i int) {
		switch i {
		case 0:
			m.Ran = c.Bool()
		case 1:
			m.Detector = c.String(maxText)
		case 2:
			m.Faces = decodeFaces(&c, (*Detection).decode)
		}
	})
	return m, finish(&c, "detections")
}

func (d *Detection) decode(c *wire.Cursor) {
	seen := c.Fields(detectionFields, func(i int) {
		switch i {
		case 0:
			c.Fixed(d.Box[:])
		case 1:
			d.Score = c.Float()
		case 2:
			d.KeyPoints = c.Points2(MaxKeyPoints)
		}
	})
	c.Require(detectionFields, seen, 1<<0|1<<1)
	checkBox(c, &d.Box)
}

// checkBox refuses a box without an extent.
func checkBox(c *wire.Cursor, box *[4]float64) {
	if box[2] < 0 || box[3] < 0 {
		c.FailAt("box", ErrInvalid)
	}
}

// decodeFaces reads the list of faces of any message; it is never nil.
func decodeFaces[F any](c *wire.Cursor, decode func(*F, *wire.Cursor)) []F {
	faces := []F{}
	c.Elements(MaxFaces, func(int) {
		var f F
		decode(&f, c)
		faces = append(faces, f)
	})
	return faces
}
