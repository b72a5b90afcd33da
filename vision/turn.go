package vision

import "math"

// Turn is the rotation of a head as it is seen along the line of sight to it: from the head's axes (x to the subject's left, y to the
// chin, z out at the back) to the frame's (x right, y down, z away).
type Turn [3][3]float64

// NewTurn makes a rotation of its first two columns, as a network tells them in a region of some rotation: the second is made
// perpendicular to the first. ok is false for columns that span no plane.
func NewTurn(columns [turnValues]float64, rotation float64) (t Turn, ok bool) {
	x, ok := unit([3]float64(columns[:3]))
	if !ok {
		return t, false
	}
	y := [3]float64(columns[3:])
	along := x[0]*y[0] + x[1]*y[1] + x[2]*y[2]
	for k := range y {
		y[k] -= along * x[k]
	}
	if y, ok = unit(y); !ok {
		return t, false
	}
	z := [3]float64{x[1]*y[2] - x[2]*y[1], x[2]*y[0] - x[0]*y[2], x[0]*y[1] - x[1]*y[0]}
	sin, cos := math.Sincos(rotation)
	for k, c := range [3][3]float64{x, y, z} {
		t[0][k], t[1][k], t[2][k] = c[0]*cos-c[1]*sin, c[0]*sin+c[1]*cos, c[2]
	}
	return t, true
}

func unit(v [3]float64) ([3]float64, bool) {
	length := math.Sqrt(v[0]*v[0] + v[1]*v[1] + v[2]*v[2])
	if !(length > 1e-6) || math.IsInf(length, 0) {
		return v, false
	}
	return [3]float64{v[0] / length, v[1] / length, v[2] / length}, true
}
