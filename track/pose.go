package track

import (
	"errors"
	"fmt"
	"math"

	"facetrack/topology"
)

var (
	// ErrModel reports a face model that cannot carry a pose.
	ErrModel = errors.New("track: unusable face model")
	// ErrTopology reports points that are not of the model's set.
	ErrTopology = errors.New("track: points do not cover the face model")
	// ErrNoPose reports points that no pose explains.
	ErrNoPose = errors.New("track: no head pose fits the points")
)

// Pose is a rigid head pose in the camera frame; see the package comment for axes and signs.
type Pose struct {
	Pitch, Yaw, Roll float64    // degrees
	X, Y, Z          float64    // of the model's origin: right, down, forward; cm
	Quaternion       [4]float64 // (w, x, y, z), w ≥ 0; the rotation from head to camera axes
	RMS              float64    // how far the raw points lie from the fitted model, px
}

// Rotation is the pose's rotation matrix.
func (p Pose) Rotation() Rotation { return RotationFromAngles(p.Pitch, p.Yaw, p.Roll) }

func poseOf(r Rotation, at [3]float64) Pose {
	p := Pose{X: at[0], Y: at[1], Z: at[2], Quaternion: r.Quaternion()}
	p.Pitch, p.Yaw, p.Roll = r.Angles()
	return p
}

// PoseSolver fits a rigid face model to 2-D points. It is immutable and safe for concurrent use.
type PoseSolver struct {
	set    *topology.Topology
	points []modelPoint
	center [3]float64    // weighted mean of the model
	affine [3][3]float64 // inverse of the model's weighted scatter about its centre
	gaze   *GazeSolver   // of the same mesh; nil when that has no corners of the eyes
}

// modelPoint is a point in head axes (x subject's left, y down, z back), cm.
type modelPoint struct {
	index  int
	at     [3]float64
	weight float64
}

// NewPoseSolver makes a solver for a set of points from a mean head in cm (x towards the subject's left, y up,
// z out of the face), indexed by the set. Only the set's stable points and the corners of its eyes are used. It returns
// [ErrModel] for a head that misses points, or is flat.
func NewPoseSolver(set *topology.Topology, canonical [][3]float64) (*PoseSolver, error) {
	s := &PoseSolver{set: set}
	for _, p := range set.Stable {
		if p.Index < 0 || p.Index >= len(canonical) {
			return nil, fmt.Errorf("%w: no point %d in a mesh of %d; give the whole canonical mesh", ErrModel, p.Index, len(canonical))
		}
		c := canonical[p.Index]
		if !allSane(c[:]) || !(p.Weight > 0) || !sane(p.Weight) {
			return nil, fmt.Errorf("%w: point %d has coordinates %v and weight %g; give finite ones and a positive weight", ErrModel, p.Index, c, p.Weight)
		}
		s.points = append(s.points, modelPoint{p.Index, [3]float64{c[0], -c[1], -c[2]}, p.Weight})
	}
	if len(s.points) < 6 {
		return nil, fmt.Errorf("%w: %d stable points; give at least 6", ErrModel, len(s.points))
	}
	if gaze, err := NewGazeSolver(set, canonical); err == nil {
		s.gaze = gaze
	}
	return s, s.prepare()
}

// Topology is the set of points that the solver takes.
func (s *PoseSolver) Topology() *topology.Topology { return s.set }

// Gaze returns the gaze solver of the same mesh, nil when that lacks the corners of the eyes.
func (s *PoseSolver) Gaze() *GazeSolver { return s.gaze }

// prepare computes what every first guess needs.
func (s *PoseSolver) prepare() error {
	total := 0.0
	for _, p := range s.points {
		total += p.weight
		for k := range 3 {
			s.center[k] += p.weight * p.at[k]
		}
	}
	for k := range 3 {
		s.center[k] /= total
	}
	var scatter [3][3]float64
	for _, p := range s.points {
		for i := range 3 {
			for j := range 3 {
				scatter[i][j] += p.weight * (p.at[i] - s.center[i]) * (p.at[j] - s.center[j]) / total
			}
		}
	}
	inverse, ok := invert3(scatter)
	if !ok {
		return fmt.Errorf("%w: its stable points lie in a plane; give points with depth", ErrModel)
	}
	s.affine = inverse
	for i := range s.points {
		s.points[i].weight /= total
	}
	return nil
}

// invert3 inverts a symmetric positive matrix; ok is false when it is (nearly) singular.
func invert3(m [3][3]float64) (inverse [3][3]float64, ok bool) {
	for i := range 3 {
		a, b := (i+1)%3, (i+2)%3
		for j := range 3 {
			c, d := (j+1)%3, (j+2)%3
			inverse[j][i] = m[a][c]*m[b][d] - m[a][d]*m[b][c]
		}
	}
	det := m[0][0]*inverse[0][0] + m[0][1]*inverse[1][0] + m[0][2]*inverse[2][0]
	size := (m[0][0] + m[1][1] + m[2][2]) / 3
	if !(det > 1e-6*size*size*size) {
		return inverse, false
	}
	for i := range 3 {
		for j := range 3 {
			inverse[i][j] /= det
		}
	}
	return inverse, !math.IsInf(inverse[0][0], 0)
}
