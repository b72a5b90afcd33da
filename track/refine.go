package track

import "math"

const (
	refineSteps = 25
	refineDone  = 1e-6 // relative gain that is not worth another step
	huberPart   = 0.03 // residuals beyond this part of the face's size lose influence
)

// normal holds the normal equations of one Gauss-Newton step: 6 unknowns, 3 for an increment of the
// rotation and 3 of the position.
type normal struct {
	h [6][6]float64 // upper triangle
	g [6]float64
}

// add accounts for the residuals eu, ev of one point with their derivatives u, v.
func (n *normal) add(u, v *[6]float64, eu, ev, weight float64) {
	for a := range 6 {
		ua, va := weight*u[a], weight*v[a]
		n.g[a] += ua*eu + va*ev
		row := &n.h[a]
		for b := a; b < 6; b++ {
			row[b] += ua*u[b] + va*v[b]
		}
	}
}

// refine minimises the reprojection error of the pose by Levenberg-Marquardt with Huber weights, and
// returns the RMS error in px (infinite when the head is behind the camera).
func (s *PoseSolver) refine(pose *rigid, v *view) float64 {
	huber := huberPart * v.handPixels(pose)
	var eq normal
	loss, rms := s.linearize(pose, v, huber, &eq)
	damping := 1e-4
	for range refineSteps {
		move, ok := eq.solve(damping)
		if !ok {
			break
		}
		next := rigid{pose.turn.turned([3]float64{move[0], move[1], move[2]}), pose.at}
		for k := range 3 {
			next.at[k] += move[3+k]
		}
		var nextEq normal
		nextLoss, nextRMS := s.linearize(&next, v, huber, &nextEq)
		if !(nextLoss < loss) {
			if damping *= 10; damping > 1e6 || tiny(&move) {
				break
			}
			continue
		}
		gain := loss - nextLoss
		*pose, loss, rms, eq = next, nextLoss, nextRMS, nextEq
		damping = math.Max(damping/10, 1e-9)
		if gain < refineDone*loss || tiny(&move) {
			break
		}
	}
	return rms
}

// tiny tells that a step moves nothing that matters (1e-7 rad, 1e-6 cm).
func tiny(move *[6]float64) bool {
	turn := math.Abs(move[0]) + math.Abs(move[1]) + math.Abs(move[2])
	shift := math.Abs(move[3]) + math.Abs(move[4]) + math.Abs(move[5])
	return turn < 1e-7 && shift < 1e-6
}

// linearize returns the Huber loss and the RMS error in px of a pose, and fills the equations of the
// next step. With q = R·m, p = q + t and the image gradient g of a coordinate, the derivatives are
// q×g for the rotation (applied from the left) and g for the position.
func (s *PoseSolver) linearize(pose *rigid, v *view, huber float64, eq *normal) (loss, rms float64) {
	for i := range s.points {
		m := &s.points[i]
		q := pose.turn.apply(&m.at)
		z := q[2] + pose.at[2]
		if z < 1 {
			return math.Inf(1), math.Inf(1)
		}
		scale := v.focal / z
		x, y := (q[0]+pose.at[0])*scale, (q[1]+pose.at[1])*scale
		eu := float64(v.points[m.index][0]) - v.cx - x
		ev := float64(v.points[m.index][1]) - v.cy - y
		square := eu*eu + ev*ev
		rms += m.weight * square
		weight := m.weight
		if e := math.Sqrt(square); e > huber {
			loss += m.weight * huber * (2*e - huber)
			weight *= huber / e
		} else {
			loss += m.weight * square
		}
		gx, gy := -x/z, -y/z
		du := [6]float64{q[1] * gx, q[2]*scale - q[0]*gx, -q[1] * scale, scale, 0, gx}
		dv := [6]float64{q[1]*gy - q[2]*scale, -q[0] * gy, q[0] * scale, 0, scale, gy}
		eq.add(&du, &dv, eu, ev, weight)
	}
	return loss, math.Sqrt(rms)
}

// solve returns the step (H + damping·diag H)⁻¹·g by Cholesky's decomposition.
func (n *normal) solve(damping float64) (x [6]float64, ok bool) {
	var l [6][6]float64
	for i := range 6 {
		for j := 0; j <= i; j++ {
			sum := n.h[j][i]
			if i == j {
				sum *= 1 + damping
			}
			for k := range j {
				sum -= l[i][k] * l[j][k]
			}
			if i != j {
				l[i][j] = sum / l[j][j]
				continue
			}
			if !(sum > 0) || math.IsInf(sum, 0) {
				return x, false
			}
			l[i][i] = math.Sqrt(sum)
		}
	}
	for i := range 6 {
		x[i] = n.g[i]
		for k := range i {
			x[i] -= l[i][k] * x[k]
		}
		x[i] /= l[i][i]
	}
	for i := 5; i >= 0; i-- {
		for k := i + 1; k < 6; k++ {
			x[i] -= l[k][i] * x[k]
		}
		x[i] /= l[i][i]
	}
	return x, true
}
