package track

import "math"

const (
	shapePoints  = 48 // points that make a shape
	shapeMinimum = 8  // fewer landmarks say nothing about shape
)

// shape is a sample of the landmarks without position and size: (x, y) pairs with zero mean and unit
// RMS radius. It holds pose and expression, which change slowly from frame to frame.
type shape []float64

func shapeOf(points [][3]float32) shape {
	n := min(len(points), shapePoints)
	if n < shapeMinimum {
		return nil
	}
	s := make(shape, 0, 2*n)
	var mx, my float64
	for k := range n {
		p := points[k*len(points)/n]
		s = append(s, float64(p[0]), float64(p[1]))
		mx += float64(p[0])
		my += float64(p[1])
	}
	mx, my = mx/float64(n), my/float64(n)
	var square float64
	for k := 0; k < len(s); k += 2 {
		s[k] -= mx
		s[k+1] -= my
		square += s[k]*s[k] + s[k+1]*s[k+1]
	}
	radius := math.Sqrt(square / float64(n))
	if radius < 1e-6 {
		return nil
	}
	for k := range s {
		s[k] /= radius
	}
	return s
}

// distance is the RMS displacement between two shapes in radii; ok is false when they cannot be compared.
func (s shape) distance(o shape) (d float64, ok bool) {
	if len(s) == 0 || len(s) != len(o) {
		return 0, false
	}
	sum := 0.0
	for k := range s {
		d := s[k] - o[k]
		sum += d * d
	}
	return math.Sqrt(2 * sum / float64(len(s))), true
}
