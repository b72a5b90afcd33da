package ipc

import "facetrack/ipc/internal/wire"

// ROI is the rotated square that was cut out of the frame for the landmark network.
type ROI struct {
	CX       float64 `json:"cx"`       // centre, px of the full-resolution frame
	CY       float64 `json:"cy"`       // px
	Size     float64 `json:"size"`     // side, px
	Rotation float64 `json:"rotation"` // rad
}

// Where the ROI of a face came from.
const (
	SourceDetection = "detection"
	SourceTracked   = "tracked"
)

// FaceLandmarks are the points and scores of one face.
type FaceLandmarks struct {
	ROI         ROI       `json:"roi"`
	Presence    float64   `json:"presence"` // 0 to 1
	Points      Points    `json:"points"`
	Blendshapes []float64 `json:"blendshapes"` // 0 to 1, in the order of the topology
	Appearance  []float64 `json:"appearance,omitempty"`
	Source      string    `json:"source"`               // SourceDetection or SourceTracked
	Confidence  []float64 `json:"confidence,omitempty"` // of each point, 0 to 1; see vision.Confidence. Not every network tells it
}

// Landmarks are the faces of one frame.
type Landmarks struct {
	Frame
	Topology string          `json:"topology"` // as package topology names it
	Faces    []FaceLandmarks `json:"faces"`
}

var (
	landmarksFields     = append(frameFields[:len(frameFields):len(frameFields)], "topology", "faces")
	faceLandmarksFields = []string{"roi", "presence", "points", "blendshapes", "appearance", "source", "confidence"}
	roiFields           = []string{"cx", "cy", "size", "rotation"}
)

// AppendJSON implements [Message].
func (m *Landmarks) AppendJSON(buf []byte) ([]byte, error) { return appendJSON(buf, m) }

func (m *Landmarks) encode(e *wire.Encoder) {
	m.Frame.encode(e)
	e.String(`,"topology":`, m.Topology)
	tooMany(e, "faces", len(m.Faces), MaxFaces)
	e.Each(`,"faces":`, len(m.Faces), func(i int) { m.Faces[i].encode(e) })
	e.Raw("}")
}

func (f *FaceLandmarks) encode(e *wire.Encoder) {
	f.ROI.encode(e)
	e.Float(`,"presence":`, f.Presence, scoreDecimals)
	encodeShape(e, f.Points, f.Blendshapes)
	if len(f.Appearance) > 0 {
		tooMany(e, "appearance", len(f.Appearance), MaxAppearance)
		e.Floats(`,"appearance":`, f.Appearance, scoreDecimals)
	}
	e.String(`,"source":`, f.Source)
	encodeConfidence(e, f.Confidence)
	e.Raw("}")
}

func (r *ROI) encode(e *wire.Encoder) {
	e.Raw(`{"roi":`)
	e.Float(`{"cx":`, r.CX, pixelDecimals)
	e.Float(`,"cy":`, r.CY, pixelDecimals)
	e.Float(`,"size":`, r.Size, pixelDecimals)
	e.Float(`,"rotation":`, r.Rotation, scoreDecimals)
	e.Raw("}")
}

// encodeShape writes what landmarks and tracks have in common.
func encodeShape(e *wire.Encoder, points Points, blendshapes []float64) {
	tooMany(e, "points", len(points), MaxPoints)
	e.Points3(`,"points":`, points, pixelDecimals)
	tooMany(e, "blendshapes", len(blendshapes), MaxBlendshapes)
	e.Floats(`,"blendshapes":`, blendshapes, scoreDecimals)
}

func encodeConfidence(e *wire.Encoder, confidence []float64) {
	if len(confidence) > 0 {
		tooMany(e, "confidence", len(confidence), MaxPoints)
		e.Floats(`,"confidence":`, confidence, confidenceDecimals)
	}
}

// DecodeLandmarks reads a landmarks message.
func DecodeLandmarks(data []byte) (Landmarks, error) {
	var m Landmarks
	c := wire.NewCursor(data)
	decodeResult(&c, &m.Frame, landmarksFields, 1<<1, func(i int) {
		switch i {
		case 0:
			m.Topology = c.String(maxText)
		case 1:
			m.Faces = decodeFaces(&c, (*FaceLandmarks).decode)
		}
	})
	return m, finish(&c, "landmarks")
}

func (f *FaceLandmarks) decode(c *wire.Cursor) {
	seen := c.Fields(faceLandmarksFields, func(i int) {
		switch i {
		case 0:
			f.ROI.decode(c)
		case 1:
			f.Presence = c.Float()
		case 2:
			f.Points = c.Points3(MaxPoints)
		case 3:
			f.Blendshapes = c.Floats(MaxBlendshapes)
		case 4:
			f.Appearance = c.Floats(MaxAppearance)
		case 5:
			f.Source = c.String(maxText)
		case 6:
			f.Confidence = c.Floats(MaxPoints)
		}
	})
	c.Require(faceLandmarksFields, seen, 1<<0|1<<1|1<<2)
}

func (r *ROI) decode(c *wire.Cursor) {
	into := [...]*float64{&r.CX, &r.CY, &r.Size, &r.Rotation}
	seen := c.Fields(roiFields, func(i int) { *into[i] = c.Float() })
	c.Require(roiFields, seen, 1<<4-1)
	if r.Size < 0 {
		c.FailAt("size", ErrInvalid)
	}
}
