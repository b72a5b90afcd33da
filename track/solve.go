package track

import (
	"fmt"
	"math"
)

const (
	misfit       = 0.05 // an RMS above this part of the face's size is not a warm start's success
	noFit        = 0.5  // an RMS above this part of the face's size is no fit at all
	handSize     = 10.0 // cm; its image stands for the face's size in px
	nearestHead  = 5.0  // cm; no head is closer to the pinhole
	farthestHead = 1e5  // cm
)

// Solve fits the pose to points in px (only x and y are used). The fit starts from warm, the same
// head's pose a moment ago, or from a weak-perspective guess when warm is nil or misleads. Errors
// are [ErrCamera], [ErrTopology] and [ErrNoPose]. A fit does not allocate.
func (s *PoseSolver) Solve(points [][3]float32, camera Camera, warm *Pose) (Pose, error) {
	if err := camera.Validate(); err != nil {
		return Pose{}, err
	}
	if len(points) != s.set.Count {
		return Pose{}, fmt.Errorf("%w: %d points; %s has %d", ErrTopology, len(points), s.set.Name, s.set.Count)
	}
	focal := camera.Focal()
	cx, cy := camera.Center()
	view := view{points: points, cx: cx, cy: cy, focal: focal}
	var best rigid
	rms := math.Inf(1)
	if warm != nil && warm.Z > nearestHead {
		best = rigid{warm.Rotation(), [3]float64{warm.X, warm.Y, warm.Z}}
		rms = s.refine(&best, &view)
	}
	if !(rms < misfit*view.handPixels(&best)) {
		if cold, ok := s.guess(&view); ok {
			if r := s.refine(&cold, &view); !(r >= rms) {
				best, rms = cold, r
			}
		}
	}
	z := best.at[2]
	if !(rms < noFit*view.handPixels(&best)) || !(z > nearestHead && z < farthestHead) {
		return Pose{}, ErrNoPose
	}
	pose := poseOf(best.turn, best.at)
	pose.RMS = rms
	return pose, nil
}

// rigid is a pose in the making.
type rigid struct {
	turn Rotation
	at   [3]float64
}

// view is the image side of a fit.
type view struct {
	points        [][3]float32
	cx, cy, focal float64
}

// handPixels is the size of 10 cm at the head's distance, px.
func (v *view) handPixels(r *rigid) float64 {
	return v.focal * handSize / math.Max(r.at[2], nearestHead)
}

// guess solves weak perspective in closed form: the least-squares affine map from the model to the
// image, then the nearest scaled pair of orthonormal rows (orthogonal Procrustes).
func (s *PoseSolver) guess(v *view) (rigid, bool) {
	var mean [2]float64
	for i := range s.points {
		p := &s.points[i]
		mean[0] += p.weight * float64(v.points[p.index][0])
		mean[1] += p.weight * float64(v.points[p.index][1])
	}
	var cross [2][3]float64
	for i := range s.points {
		p := &s.points[i]
		du := p.weight * (float64(v.points[p.index][0]) - mean[0])
		dv := p.weight * (float64(v.points[p.index][1]) - mean[1])
		for k := range 3 {
			cross[0][k] += du * (p.at[k] - s.center[k])
			cross[1][k] += dv * (p.at[k] - s.center[k])
		}
	}
	var a [2][3]float64
	for i := range 2 {
		for j := range 3 {
			a[i][j] = cross[i][0]*s.affine[0][j] + cross[i][1]*s.affine[1][j] + cross[i][2]*s.affine[2][j]
		}
	}
	turn, size, ok := nearestRotation(a)
	if !ok {
		return rigid{}, false
	}
	z := v.focal / size
	center := turn.apply(&s.center)
	return rigid{turn, [3]float64{
		(mean[0]-v.cx)/size - center[0], (mean[1]-v.cy)/size - center[1], z - center[2],
	}}, z > nearestHead && z < farthestHead
}

// nearestRotation factors a 2×3 map into a scale and the first two rows of a rotation, by the polar
// decomposition: (a·aᵀ)^(-1/2)·a, whose 2×2 root has a closed form.
func nearestRotation(a [2][3]float64) (r Rotation, size float64, ok bool) {
	p := a[0][0]*a[0][0] + a[0][1]*a[0][1] + a[0][2]*a[0][2]
	q := a[0][0]*a[1][0] + a[0][1]*a[1][1] + a[0][2]*a[1][2]
	t := a[1][0]*a[1][0] + a[1][1]*a[1][1] + a[1][2]*a[1][2]
	det := math.Sqrt(p*t - q*q)
	trace := math.Sqrt(p + t + 2*det)
	if !(det > 1e-9*(p+t)) || math.IsInf(trace, 0) {
		return r, 0, false
	}
	// √M = (M + det·I)/trace and its determinant is det.
	ia, ib, ic := (t+det)/(trace*det), -q/(trace*det), (p+det)/(trace*det)
	for k := range 3 {
		r[0][k] = ia*a[0][k] + ib*a[1][k]
		r[1][k] = ib*a[0][k] + ic*a[1][k]
	}
	r[2] = [3]float64{
		r[0][1]*r[1][2] - r[0][2]*r[1][1], r[0][2]*r[1][0] - r[0][0]*r[1][2], r[0][0]*r[1][1] - r[0][1]*r[1][0],
	}
	return r, trace / 2, true
}
