package faces

import (
	"fmt"
	"math"

	"facetrack/internal/cuda"
	"facetrack/topology"
	"facetrack/vision"
)

// Mesh is what a landmark network puts out for each face.
type Mesh struct {
	Set          *topology.Topology // of the points
	Size         int                // of its input, whose pixels the points count
	Spread, Turn bool               // whether it tells them; see vision.FaceOutputs
}

// NewMesh is that of a network with some outputs and an input of size × size pixels.
func NewMesh(o vision.FaceOutputs, size int) Mesh {
	return Mesh{Set: o.Set, Size: size, Spread: o.Spread >= 0, Turn: o.Turn >= 0}
}

// The words of a face's record (record.cuh).
const (
	presenceWord    = 0
	flagsWord       = 1
	boxWord         = 2
	nextWord        = 6
	appearanceWord  = 12
	blendshapesWord = 72
	pointsWord      = 124

	finiteFlag, nextFlag = 1, 2
	turnWords            = 6
	maxPoints            = 1024
)

// AppearanceOffset is where in a record image.Appearance writes.
const AppearanceOffset = 4 * appearanceWord

// PlaceBytes is the size of what image.Appearance reads of each face; an array of them begins at a multiple of 16.
const PlaceBytes = 48

// BlendshapeInputBytes is the size of one face's input of the blendshape network, float32.
const BlendshapeInputBytes = 8 * len(vision.BlendshapeIndices)

// spreadWord and turnWord are where those are in a record that has them.
func (m Mesh) spreadWord() int { return pointsWord + 3*m.Set.Count }

func (m Mesh) turnWord() int {
	if m.Spread {
		return m.spreadWord() + m.Set.Count
	}
	return m.spreadWord()
}

// RecordBytes is the size of a face's record, a multiple of 16.
func (m Mesh) RecordBytes() int {
	words := m.turnWord()
	if m.Turn {
		words += turnWords
	}
	return (4*words + 15) / 16 * 16
}

// PointsAt are addresses in device memory, for a number of faces. Raw, Presence and, if the network has them, Spread, Coefficients and
// Turn are its outputs, float32. Regions are the regions in which the faces were looked for: at image.RegionPlace of each image.Region,
// RegionBytes from one to the next. Written are Records, Places (for image.Appearance) and Blendshapes, unless that is 0: the blendshape
// network's input, float32.
type PointsAt struct {
	Raw, Presence, Spread, Coefficients, Turn, Regions, Records, Places, Blendshapes uint64
	RegionBytes                                                                      int
}

// Points queues what follows the landmark network.
func (s *Set) Points(stream *cuda.Stream, m Mesh, p PointsAt, n int) error {
	if err := m.check(p); err != nil {
		return err
	}
	if err := errOr(checkItems(n), checkAligned(p.Raw, p.Records, p.Places)); err != nil {
		return err
	}
	eyes := &m.Set.Eyes
	return stream.Launch(s.Function("points"), cuda.Dim{X: n}, cuda.Dim{X: 512}, 0, p.Raw, p.Presence, p.Spread, p.Coefficients, p.Turn,
		uint32(m.Set.Count), uint32(eyes[0].Outer), uint32(eyes[1].Outer), math.Float64bits(1/float64(m.Size)),
		p.Regions, uint32(p.RegionBytes), p.Records, uint32(m.RecordBytes()), p.Places, p.Blendshapes)
}

func (m Mesh) check(p PointsAt) error {
	if m.Set == nil || m.Set.Count > maxPoints || m.Size < 1 || p.Blendshapes != 0 && m.Set != topology.MediaPipe {
		return fmt.Errorf("%w: %+v, of at most %d points; blendshapes are read from those of %s", ErrLaunch, m, maxPoints, topology.MediaPipe.Name)
	}
	if m.Spread != (p.Spread != 0) || m.Turn != (p.Turn != 0) || p.Spread%4 != 0 || p.Coefficients%4 != 0 || p.Turn%4 != 0 {
		return fmt.Errorf("%w: addresses %+v of %+v", ErrLaunch, p, m)
	}
	if p.Presence == 0 || p.Presence%4 != 0 || p.Regions == 0 || p.Regions%8 != 0 || p.RegionBytes%8 != 0 || p.Blendshapes%8 != 0 {
		return fmt.Errorf("%w: addresses %+v", ErrLaunch, p)
	}
	return nil
}

// Collect queues the copy of the blendshape network's scores, float32, into the records.
func (s *Set) Collect(stream *cuda.Stream, m Mesh, scores, records uint64, n int) error {
	if err := errOr(checkItems(n), checkAligned(scores, records)); err != nil {
		return err
	}
	return stream.Launch(s.Function("collect"), cuda.Dim{X: n}, cuda.Dim{X: 64}, 0, scores, uint32(len(vision.BlendshapeNames)), records, uint32(m.RecordBytes()))
}
