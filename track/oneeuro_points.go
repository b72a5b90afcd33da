package track

import "math"

// OneEuroPoints is a [OneEuro] filter for 3-D points. The coordinates of a point share one cutoff,
// which follows the length of the point's velocity, so that smoothing does not depend on direction.
// The zero value is ready for use.
type OneEuroPoints struct {
	value, speed [][3]float32
	time         float64
}

// Reset forgets everything; the next sample passes unchanged.
func (f *OneEuroPoints) Reset() { f.value = f.value[:0] }

// Filter smooths in into out, which has the same length and may be in itself; see [OneEuro.Filter].
func (f *OneEuroPoints) Filter(out, in [][3]float32, seconds, unit float64, p OneEuroParams) {
	if len(f.value) != len(in) {
		f.value = append(f.value[:0], in...)
		f.speed = make([][3]float32, len(in))
		f.time = seconds
		copy(out, in)
		return
	}
	if s, ok := newStep(seconds-f.time, unit, p); ok {
		s.points(f.value[:len(in)], f.speed[:len(in)], in)
	}
	f.time = seconds
	copy(out, f.value)
}

func (s *step) points(value, speed, in [][3]float32) {
	rate, weight, least, slope := float32(s.rate), float32(s.speed), float32(s.min), float32(s.slope)
	for i, x := range in {
		p, v := &value[i], &speed[i]
		dx, dy, dz := x[0]-p[0], x[1]-p[1], x[2]-p[2]
		if square := dx*dx + dy*dy + dz*dz; !(square <= absurdStep) {
			for k := range p {
				p[k] = float32(restart(float64(p[k]), float64(x[k])))
			}
			continue
		}
		v[0] += weight * (dx*rate - v[0])
		v[1] += weight * (dy*rate - v[1])
		v[2] += weight * (dz*rate - v[2])
		r := least + slope*float32(math.Sqrt(float64(v[0]*v[0]+v[1]*v[1]+v[2]*v[2])))
		r /= r + 1
		p[0] += dx * r
		p[1] += dy * r
		p[2] += dz * r
	}
}
