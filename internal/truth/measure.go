package truth

import (
	"math"
	"slices"

	"facetrack/ipc"
	"facetrack/track"
)

// samples are one value of each face, or of each that has such a thing.
type samples struct {
	points, inside, pose, pitch, yaw, roll, position, gaze, coefficients, still []float64
}

const jaw = 17 // points, the first of the 68

func (c *comparison) measure(p *Person, f *ipc.TrackedFace, topology string) {
	if c.options.MultiPIE != nil {
		if indices, ok := c.options.MultiPIE(topology); ok {
			c.of.points = c.points(c.of.points, p, f, indices, 0)
			c.of.inside = c.points(c.of.inside, p, f, indices, jaw)
		}
	}
	head := rotation(p.Pose)
	if f.Pose != nil {
		c.of.pose = append(c.of.pose, apart(head, track.RotationFromAngles(f.Pose.Pitch, f.Pose.Yaw, f.Pose.Roll)))
		c.of.pitch = append(c.of.pitch, turn(p.Pose[0], f.Pose.Pitch))
		c.of.yaw = append(c.of.yaw, turn(p.Pose[1], f.Pose.Yaw))
		c.of.roll = append(c.of.roll, turn(p.Pose[2], f.Pose.Roll))
		c.of.position = append(c.of.position, math.Hypot(math.Hypot(p.Position[0]-f.Pose.X, p.Position[1]-f.Pose.Y), p.Position[2]-f.Pose.Z))
	}
	if f.Gaze != nil {
		l, r := p.Gaze.Left, p.Gaze.Right
		looks := ahead(head, ahead(rotation([]float64{l[0], l[1], 0}), [3]float64{0, 0, -1}), ahead(rotation([]float64{r[0], r[1], 0}), [3]float64{0, 0, -1}))
		told := ahead(rotation([]float64{f.Gaze.Pitch, f.Gaze.Yaw, 0}), [3]float64{0, 0, -1})
		c.of.gaze = append(c.of.gaze, between(looks, told))
	}
	if len(f.Blendshapes) == len(p.Coefficients) {
		off, still := 0.0, 0.0
		for i, want := range p.Coefficients[1:] {
			off += math.Abs(f.Blendshapes[i+1] - want)
			still += math.Abs(want)
		}
		n := float64(len(p.Coefficients) - 1)
		c.of.coefficients, c.of.still = append(c.of.coefficients, off/n), append(c.of.still, still/n)
	}
}

// points appends the mean error of those of the 68 from first on that the camera sees.
func (c *comparison) points(to []float64, p *Person, f *ipc.TrackedFace, indices *[Points]int, first int) []float64 {
	total, n := 0.0, 0
	for i := first; i < Points; i++ {
		if slices.Contains(p.Hidden, i) {
			continue
		}
		if indices[i] >= len(f.Points) {
			return to
		}
		at := f.Points[indices[i]]
		total += distance(p.Points[i], [2]float64{float64(at[0]), float64(at[1])})
		n++
	}
	if n == 0 {
		return to
	}
	return append(to, total/float64(n)/p.interocular())
}

func rotation(angles []float64) track.Rotation {
	return track.RotationFromAngles(angles[0], angles[1], angles[2])
}

// turn is how far two angles are apart, degrees.
func turn(a, b float64) float64 { return math.Abs(math.Remainder(a-b, 360)) }

// apart is the angle of the rotation from one to the other, degrees.
func apart(a, b track.Rotation) float64 {
	trace := 0.0
	for i := range 3 {
		for j := range 3 {
			trace += a[i][j] * b[i][j]
		}
	}
	return math.Acos(min(1, max(-1, (trace-1)/2))) * 180 / math.Pi
}

// ahead is the sum of directions, turned.
func ahead(r track.Rotation, directions ...[3]float64) (out [3]float64) {
	for _, d := range directions {
		for i := range 3 {
			out[i] += r[i][0]*d[0] + r[i][1]*d[1] + r[i][2]*d[2]
		}
	}
	return out
}

// between is the angle of two vectors, degrees.
func between(a, b [3]float64) float64 {
	dot, aa, bb := 0.0, 0.0, 0.0
	for i := range 3 {
		dot, aa, bb = dot+a[i]*b[i], aa+a[i]*a[i], bb+b[i]*b[i]
	}
	return math.Acos(min(1, max(-1, dot/math.Sqrt(aa*bb)))) * 180 / math.Pi
}

func (c *comparison) done() *Result {
	r := &c.result
	r.Points, r.PointsInside, r.Pose, r.Position = errorsOf(c.of.points), errorsOf(c.of.inside), errorsOf(c.of.pose), errorsOf(c.of.position)
	r.Gaze, r.Coefficients, r.AtRest = errorsOf(c.of.gaze), errorsOf(c.of.coefficients), errorsOf(c.of.still)
	if r.Pose != nil {
		r.Angles = &Angles{Pitch: errorsOf(c.of.pitch).Mean, Yaw: errorsOf(c.of.yaw).Mean, Roll: errorsOf(c.of.roll).Mean}
	}
	return r
}

func errorsOf(values []float64) *Errors {
	if len(values) == 0 {
		return nil
	}
	total := 0.0
	for _, v := range values {
		total += v
	}
	slices.Sort(values)
	return &Errors{Mean: total / float64(len(values)), P95: values[(len(values)*95+99)/100-1]}
}
