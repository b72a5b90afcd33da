package track

import (
	"errors"
	"fmt"
	"math"

	"facetrack/topology"
)

// ErrNoGaze reports a face of which neither eye can be told: closed, turned away, or points that make no eye.
var ErrNoGaze = errors.New("track: no eye shows where it looks")

// EyeGaze is where one eye is and where it looks, in the camera frame (x right, y down, z forward).
type EyeGaze struct {
	Valid     bool       // open, in the camera's sight and in agreement with its head; else direction and origin are 0
	Origin    [3]float64 // centre of the eyeball, about which it turns, cm
	Direction [3]float64 // of the optical axis, out of the eye; length 1
	Openness  float64    // distance of the lids over the eye's width: 0.2 to 0.45 for an open eye
}

// Gaze is where a face looks, in the camera frame; see the package comment for axes, signs and accuracy.
type Gaze struct {
	Left, Right EyeGaze    // the subject's own left and right
	Direction   [3]float64 // normalised mean over the valid eyes
	Pitch, Yaw  float64    // of Direction, degrees, with the signs of the head pose
}

// GazeSolver tells the direction of gaze from the irises and eye corners. It is immutable and safe for concurrent use.
type GazeSolver struct {
	set         *topology.Topology
	left, right eyeModel
}

// NewGazeSolver makes a solver from a set of points and its mean head, as [NewPoseSolver] takes them; of the head only the corners
// of the eyes are used. It returns [ErrModel] for a head without them.
func NewGazeSolver(set *topology.Topology, canonical [][3]float64) (*GazeSolver, error) {
	s := &GazeSolver{set: set, right: eyeModel{Eye: &set.Eyes[0], side: -1}, left: eyeModel{Eye: &set.Eyes[1], side: 1}}
	for _, e := range []*eyeModel{&s.left, &s.right} {
		if err := e.prepare(set, canonical); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Solve returns the gaze of a face with the set's points in px of the full frame (only x and y are used) whose head has the
// given pose, fitted to the same points with the same camera. One valid eye is enough. Errors are [ErrCamera],
// [ErrTopology], [ErrNoPose] for a pose that is none, and [ErrNoGaze]. Solve does not allocate unless it fails.
func (s *GazeSolver) Solve(points [][3]float32, camera Camera, pose Pose) (Gaze, error) {
	if err := camera.Validate(); err != nil {
		return Gaze{}, err
	}
	if len(points) != s.set.Count {
		return Gaze{}, fmt.Errorf("%w: %d points; %s has %d", ErrTopology, len(points), s.set.Name, s.set.Count)
	}
	head := rigid{pose.Rotation(), [3]float64{pose.X, pose.Y, pose.Z}}
	if !head.possible() {
		return Gaze{}, ErrNoPose
	}
	cx, cy := camera.Center()
	v := view{points: points, cx: cx, cy: cy, focal: camera.Focal()}
	g := Gaze{Left: s.left.solve(&v, &head), Right: s.right.solve(&v, &head)}
	if !g.combine() {
		return g, ErrNoGaze
	}
	return g, nil
}

// possible is false for a pose that no fit returns.
func (r *rigid) possible() bool {
	for i := range r.turn {
		if !allSane(r.turn[i][:]) {
			return false
		}
	}
	return allSane(r.at[:]) && r.at[2] > nearestHead && r.at[2] < farthestHead
}

// combine fills what both eyes say together; ok is false when neither is valid or they look opposite ways.
func (g *Gaze) combine() (ok bool) {
	var sum [3]float64
	for _, e := range []*EyeGaze{&g.Left, &g.Right} {
		for k := range sum {
			if e.Valid {
				sum[k] += e.Direction[k]
			}
		}
	}
	if g.Direction, ok = normalized(sum); ok {
		g.Pitch, g.Yaw = DirectionAngles(g.Direction)
	}
	return ok
}

// DirectionAngles returns pitch and yaw in degrees of a direction in the camera frame, with the signs of the head
// pose: those of a head that faces that way. Of a direction in the head's axes it returns those relative to the head.
func DirectionAngles(d [3]float64) (pitch, yaw float64) {
	const degrees = 180 / math.Pi
	return math.Atan2(-d[1], math.Hypot(d[0], d[2])) * degrees, math.Atan2(d[0], -d[2]) * degrees
}

// normalized is v at length 1; ok is false when it has no direction.
func normalized(v [3]float64) (unit [3]float64, ok bool) {
	length := math.Sqrt(dot3(v, v))
	if !(length > 1e-9) || math.IsInf(length, 0) {
		return v, false
	}
	return [3]float64{v[0] / length, v[1] / length, v[2] / length}, true
}

func dot3(a, b [3]float64) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }
