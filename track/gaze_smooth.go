package track

import "math"

// gazeSmoother filters both eyes, each by itself: an eye that was not seen for a frame begins anew.
type gazeSmoother struct{ left, right eyeSmoother }

type eyeSmoother struct{ origin, direction OneEuro }

func (s *gazeSmoother) reset() {
	s.left.reset()
	s.right.reset()
}

func (s *eyeSmoother) reset() {
	s.origin.Reset()
	s.direction.Reset()
}

// apply replaces a raw gaze by the smoothed one.
func (s *gazeSmoother) apply(g *Gaze, seconds float64, p *Smoothing) {
	s.left.apply(&g.Left, seconds, p)
	s.right.apply(&g.Right, seconds, p)
	g.combine()
}

func (s *eyeSmoother) apply(e *EyeGaze, seconds float64, p *Smoothing) {
	if !e.Valid {
		s.reset()
		return
	}
	s.origin.Filter(e.Origin[:], e.Origin[:], seconds, 1, p.Position)
	s.direction.Filter(e.Direction[:], e.Direction[:], seconds, math.Pi/180, p.Gaze)
	if d, ok := normalized(e.Direction); ok {
		e.Direction = d
	}
}
