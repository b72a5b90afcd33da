package modeleval

import (
	"math"

	"facetrack/track"
	"facetrack/vision"
)

// fieldOfView is assumed of cameras, degrees.
const fieldOfView = 60

// posed are two rotations of one head.
type posed struct{ ours, theirs track.Rotation }

// Pose compares head poses, degrees.
type Pose struct {
	Faces  int     `json:"faces"`
	Median float64 `json:"median"` // of the angle between both
	P90    float64 `json:"p90"`
	// Mean of ours less the reference's.
	Pitch float64 `json:"pitch_bias"`
	Yaw   float64 `json:"yaw_bias"`
	Roll  float64 `json:"roll_bias"`
}

func measurePose(all []posed) Pose {
	p := Pose{Faces: len(all)}
	var apart, pitch, yaw, roll []float64
	for _, both := range all {
		apart = append(apart, between(both.ours, both.theirs))
		p0, y0, r0 := both.theirs.Angles()
		p1, y1, r1 := both.ours.Angles()
		pitch, yaw, roll = append(pitch, p1-p0), append(yaw, wrapped(y1-y0)), append(roll, wrapped(r1-r0))
	}
	p.Median, p.P90 = median(apart), quantile(apart, 0.9)
	p.Pitch, p.Yaw, p.Roll = mean(pitch), mean(yaw), mean(roll)
	return p
}

// between is the angle between two rotations, degrees.
func between(a, b track.Rotation) float64 {
	trace := 0.0
	for i := range 3 {
		for k := range 3 {
			trace += a[i][k] * b[i][k]
		}
	}
	return math.Acos(max(-1, min(1, (trace-1)/2))) * 180 / math.Pi
}

func wrapped(degrees float64) float64 { return math.Remainder(degrees, 360) }

// along is the smallest turn that brings the direction to a position onto the camera's axis.
func along(position [3]float64) track.Rotation {
	length := math.Sqrt(position[0]*position[0] + position[1]*position[1] + position[2]*position[2])
	x, y, z := position[0]/length, position[1]/length, position[2]/length
	k := 1 / (1 + max(z, -0.99))
	return track.Rotation{{1 - x*x*k, -x * y * k, -x}, {-x * y * k, 1 - y*y*k, -y}, {x, y, z}}
}

func times(a, b track.Rotation) (c track.Rotation) {
	for i := range 3 {
		for j := range 3 {
			for k := range 3 {
				c[i][j] += a[i][k] * b[k][j]
			}
		}
	}
	return c
}

// solve is the pose of points in a picture.
func solve(solver *track.PoseSolver, points [][3]float64, m vision.Image) (track.Pose, error) {
	narrow := make([][3]float32, len(points))
	for i, p := range points {
		narrow[i] = [3]float32{float32(p[0]), float32(p[1]), float32(p[2])}
	}
	return solver.Solve(narrow, track.Camera{Width: m.Width, Height: m.Height, HFOVDegrees: fieldOfView}, nil)
}
