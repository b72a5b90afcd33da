package track

import "math"

// Rotation is a 3×3 rotation matrix by rows. It takes head coordinates to camera coordinates.
type Rotation [3][3]float64

// RotationFromAngles builds the rotation of the angles in degrees, R_y(-yaw)·R_x(-pitch)·R_z(-roll);
// see the package comment for their signs.
func RotationFromAngles(pitch, yaw, roll float64) Rotation {
	sp, cp := math.Sincos(-pitch * math.Pi / 180)
	sy, cy := math.Sincos(-yaw * math.Pi / 180)
	sr, cr := math.Sincos(-roll * math.Pi / 180)
	return Rotation{
		{cy*cr + sy*sp*sr, -cy*sr + sy*sp*cr, sy * cp},
		{cp * sr, cp * cr, -sp},
		{-sy*cr + cy*sp*sr, sy*sr + cy*sp*cr, cy * cp},
	}
}

// Angles returns pitch, yaw and roll in degrees, the inverse of [RotationFromAngles]. At a pitch of
// ±90°, where yaw and roll turn about the same axis, roll is 0.
func (r Rotation) Angles() (pitch, yaw, roll float64) {
	const degrees = 180 / math.Pi
	sp := math.Max(-1, math.Min(1, r[1][2]))
	pitch = math.Asin(sp) * degrees
	if math.Abs(sp) > 1-1e-12 {
		return pitch, math.Atan2(r[2][0], r[0][0]) * degrees, 0
	}
	yaw = -math.Atan2(r[0][2], r[2][2]) * degrees
	roll = -math.Atan2(r[1][0], r[1][1]) * degrees
	return pitch, yaw, roll
}

// Quaternion returns (w, x, y, z) with w ≥ 0.
func (r Rotation) Quaternion() [4]float64 {
	// Each candidate is one row of 4·q·qᵀ; the one with the largest diagonal is the best conditioned.
	t := [4]float64{
		1 + r[0][0] + r[1][1] + r[2][2], 1 + r[0][0] - r[1][1] - r[2][2],
		1 - r[0][0] + r[1][1] - r[2][2], 1 - r[0][0] - r[1][1] + r[2][2],
	}
	wx, wy, wz := r[2][1]-r[1][2], r[0][2]-r[2][0], r[1][0]-r[0][1]
	xy, xz, yz := r[0][1]+r[1][0], r[0][2]+r[2][0], r[1][2]+r[2][1]
	rows := [4][4]float64{{t[0], wx, wy, wz}, {wx, t[1], xy, xz}, {wy, xy, t[2], yz}, {wz, xz, yz, t[3]}}
	best := 0
	for i := range t {
		if t[i] > t[best] {
			best = i
		}
	}
	q := rows[best]
	length := math.Sqrt(q[0]*q[0] + q[1]*q[1] + q[2]*q[2] + q[3]*q[3])
	if q[0] < 0 {
		length = -length
	}
	for i := range q {
		q[i] /= length
	}
	return q
}

// apply rotates a vector.
func (r *Rotation) apply(v *[3]float64) [3]float64 {
	return [3]float64{
		r[0][0]*v[0] + r[0][1]*v[1] + r[0][2]*v[2],
		r[1][0]*v[0] + r[1][1]*v[1] + r[1][2]*v[2],
		r[2][0]*v[0] + r[2][1]*v[1] + r[2][2]*v[2],
	}
}

// ToHead takes a vector of the camera frame to the head's axes, the inverse rotation. With it [DirectionAngles] tells a
// gaze relative to the head.
func (r Rotation) ToHead(v [3]float64) [3]float64 {
	return [3]float64{
		r[0][0]*v[0] + r[1][0]*v[1] + r[2][0]*v[2],
		r[0][1]*v[0] + r[1][1]*v[1] + r[2][1]*v[2],
		r[0][2]*v[0] + r[1][2]*v[1] + r[2][2]*v[2],
	}
}

// turned returns exp(w)·r for a rotation vector w in radians.
func (r *Rotation) turned(w [3]float64) Rotation {
	angle := math.Sqrt(w[0]*w[0] + w[1]*w[1] + w[2]*w[2])
	if angle < 1e-300 {
		return *r
	}
	s, c := math.Sincos(angle)
	x, y, z := w[0]/angle, w[1]/angle, w[2]/angle
	e := Rotation{
		{c + x*x*(1-c), x*y*(1-c) - z*s, x*z*(1-c) + y*s},
		{y*x*(1-c) + z*s, c + y*y*(1-c), y*z*(1-c) - x*s},
		{z*x*(1-c) - y*s, z*y*(1-c) + x*s, c + z*z*(1-c)},
	}
	var product Rotation
	for i := range 3 {
		for j := range 3 {
			product[i][j] = e[i][0]*r[0][j] + e[i][1]*r[1][j] + e[i][2]*r[2][j]
		}
	}
	return product
}
