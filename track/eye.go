package track

import (
	"fmt"
	"math"

	"facetrack/topology"
)

// What the eyes of adults have in common, cm and degrees.
const (
	// irisRadius is from the centre about which the eye turns to the iris as a camera sees it: spectacle optics takes that
	// centre 1.35 cm behind the apex of the cornea, Gullstrand's schematic eye has the entrance pupil 0.305 cm behind it.
	irisRadius = 1.05
	// orbitSpread is how far an orbit's axis points outwards.
	orbitSpread = 22.5
)

const (
	closedEye = 0.12 // openness below which the network guesses the iris: an open eye has 0.2 to 0.45
	farMiss   = 1.25 // a ray that passes the eyeball farther off, in its radii, is an error of the points
	turnLimit = 60.0 // degrees from straight ahead; eyes turn by 50 at most
	sideLimit = 75.0 // degrees between an orbit's axis and the line of sight; farther round, nose or temple hide the eye
)

// eyeModel is an eye in head axes.
type eyeModel struct {
	*topology.Eye
	side             float64    // 1 on the subject's left, where head coordinates have positive x
	centre           [3]float64 // from the middle of the corners to that of the eyeball
	outerAt, innerAt [3]float64
	width            float64    // between the corners, cm
	axis             [3]float64 // of the orbit
}

func (e *eyeModel) prepare(set *topology.Topology, canonical [][3]float64) error {
	e.centre = [3]float64{0, -set.EyeUp, set.EyeBack}
	for _, c := range []struct {
		index int
		at    *[3]float64
	}{{e.Outer, &e.outerAt}, {e.Inner, &e.innerAt}} {
		if c.index >= len(canonical) {
			return fmt.Errorf("%w: no point %d in a mesh of %d; give the whole canonical mesh", ErrModel, c.index, len(canonical))
		}
		p := canonical[c.index]
		if !allSane(p[:]) {
			return fmt.Errorf("%w: point %d has coordinates %v; give finite ones", ErrModel, c.index, p)
		}
		*c.at = [3]float64{p[0], -p[1], -p[2]}
	}
	across := [3]float64{e.outerAt[0] - e.innerAt[0], e.outerAt[1] - e.innerAt[1], e.outerAt[2] - e.innerAt[2]}
	e.width = math.Sqrt(dot3(across, across))
	if !(e.side*across[0] > 0.5 && e.width < 10) {
		return fmt.Errorf("%w: corners of an eye at %v and %v; give a mesh in cm, x towards the subject's left", ErrModel, canonical[e.Outer], canonical[e.Inner])
	}
	s, c := math.Sincos(orbitSpread * math.Pi / 180)
	e.axis = [3]float64{e.side * s, 0, -c}
	return nil
}

// solve tells where the eye of a head looks.
func (e *eyeModel) solve(v *view, head *rigid) EyeGaze {
	outer, inner := v.lift(e.Outer, head.depth(&e.outerAt)), v.lift(e.Inner, head.depth(&e.innerAt))
	if !(outer[2] > 1 && inner[2] > 1) {
		return EyeGaze{}
	}
	openness := e.openness(v, (outer[2]+inner[2])/2)
	origin := head.turn.apply(&e.centre)
	for k := range origin {
		origin[k] += (outer[k] + inner[k]) / 2
	}
	if openness >= closedEye && e.faces(origin, &head.turn) {
		direction, ok := meet(v.ray(e.Iris), origin, irisRadius)
		if ok && within(direction, head.turn.apply(&[3]float64{0, 0, -1}), turnLimit) {
			return EyeGaze{Valid: true, Origin: origin, Direction: direction, Openness: openness}
		}
	}
	return EyeGaze{Openness: openness}
}

// openness is the distance of the lids over the width that the head's eye has; the observed width would shrink as the
// head turns.
func (e *eyeModel) openness(v *view, depth float64) float64 {
	p, q := &v.points[e.Upper], &v.points[e.Lower]
	open := math.Hypot(float64(p[0]-q[0]), float64(p[1]-q[1])) * depth / (v.focal * e.width)
	if !sane(open) {
		return 0
	}
	return open
}

// faces tells whether the camera can see into the orbit.
func (e *eyeModel) faces(origin [3]float64, turn *Rotation) bool {
	sight, ok := normalized([3]float64{-origin[0], -origin[1], -origin[2]})
	return ok && within(turn.apply(&e.axis), sight, sideLimit)
}

// within tells whether two directions are closer than some degrees.
func within(a, b [3]float64, degrees float64) bool {
	return dot3(a, b) > math.Cos(degrees*math.Pi/180)
}

// depth is how far in front of the camera a point of the head lies, cm.
func (r *rigid) depth(at *[3]float64) float64 { return r.turn.apply(at)[2] + r.at[2] }

// lift is the point of the camera frame at a depth that the camera sees as the given point.
func (v *view) lift(index int, depth float64) [3]float64 {
	p := &v.points[index]
	return [3]float64{(float64(p[0]) - v.cx) / v.focal * depth, (float64(p[1]) - v.cy) / v.focal * depth, depth}
}

// ray is the direction in which the camera sees a point.
func (v *view) ray(index int) [3]float64 {
	ray, _ := normalized(v.lift(index, 1))
	return ray
}

// meet returns the direction from the centre of a sphere to where the ray from the camera enters it, or, when it just
// misses, to where it passes closest.
func meet(ray, center [3]float64, radius float64) (direction [3]float64, ok bool) {
	along := dot3(ray, center)
	var off [3]float64 // from the centre to the ray's closest point
	for k := range off {
		off[k] = along*ray[k] - center[k]
	}
	miss := dot3(off, off)
	if !(miss < farMiss*farMiss*radius*radius) {
		return direction, false
	}
	if rest := radius*radius - miss; rest > 0 {
		for k := range off {
			off[k] -= math.Sqrt(rest) * ray[k]
		}
	}
	return normalized(off)
}
