package track

import "math"

// Smoothing configures the One Euro filters of a [Tracker]. A zero parameter set takes its default.
// The units of Beta make it independent of image resolution and distance where that matters.
type Smoothing struct {
	Off         bool          // publish raw values as they are
	Points      OneEuroParams // Beta per face size/s; default {2, 20, 1}
	Box         OneEuroParams // Beta per face size/s; default {2, 10, 1}
	Blendshapes OneEuroParams // Beta per 1/s; default {3, 3, 2}
	Angles      OneEuroParams // Beta per degree/s; default {1.5, 0.3, 1}
	Position    OneEuroParams // Beta per cm/s; default {1.5, 0.3, 1}
	Gaze        OneEuroParams // Beta per degree/s; default {1.5, 0.1, 1}
}

func (s Smoothing) withDefaults() Smoothing {
	for _, d := range []struct{ set, fallback *OneEuroParams }{
		{&s.Points, &OneEuroParams{2, 20, 1}},
		{&s.Box, &OneEuroParams{2, 10, 1}},
		{&s.Blendshapes, &OneEuroParams{3, 3, 2}},
		{&s.Angles, &OneEuroParams{1.5, 0.3, 1}},
		{&s.Position, &OneEuroParams{1.5, 0.3, 1}},
		{&s.Gaze, &OneEuroParams{1.5, 0.1, 1}},
	} {
		if !d.set.usable() {
			*d.set = *d.fallback
		}
	}
	return s
}

// smoother filters everything that is measured on one person.
type smoother struct {
	points           OneEuroPoints
	box, blendshapes OneEuro
	angles, position OneEuro
	gaze             gazeSmoother
	last             float64
}

// apply fills the smoothed fields of out. An absence resets: a face that returns is not dragged from
// where it was.
func (s *smoother) apply(out *Tracked, c *candidate, clock *clock, p *Smoothing) {
	seconds := clock.seconds
	face := c.face
	out.Box, out.Pose, out.Gaze = face.Box, out.RawPose, out.RawGaze
	out.Points = append([][3]float32(nil), face.Points...)
	out.Blendshapes = append([]float64(nil), face.Blendshapes...)
	if p.Off {
		return
	}
	if seconds-s.last > clock.atLeast(0.5, 2.5) {
		s.points.Reset()
		s.box.Reset()
		s.blendshapes.Reset()
		s.angles.Reset()
		s.position.Reset()
		s.gaze.reset()
	}
	s.last = seconds
	s.points.Filter(out.Points, face.Points, seconds, c.size, p.Points)
	s.box.Filter(out.Box[:], out.Box[:], seconds, c.size, p.Box)
	s.blendshapes.Filter(out.Blendshapes, face.Blendshapes, seconds, 1, p.Blendshapes)
	if out.HasPose {
		out.Pose = s.pose(out.RawPose, seconds, p)
	}
	s.gaze.apply(&out.Gaze, seconds, p)
}

// pose smooths angles across the ±180° seam, and the position.
func (s *smoother) pose(raw Pose, seconds float64, p *Smoothing) Pose {
	angles := [3]float64{raw.Pitch, raw.Yaw, raw.Roll}
	for i := range s.angles.value {
		angles[i] = s.angles.value[i] + wrapDegrees(angles[i]-s.angles.value[i])
	}
	s.angles.Filter(angles[:], angles[:], seconds, 1, p.Angles)
	position := [3]float64{raw.X, raw.Y, raw.Z}
	s.position.Filter(position[:], position[:], seconds, 1, p.Position)
	smooth := poseOf(RotationFromAngles(wrapDegrees(angles[0]), wrapDegrees(angles[1]), wrapDegrees(angles[2])), position)
	smooth.RMS = raw.RMS
	return smooth
}

// wrapDegrees maps an angle to [-180, 180].
func wrapDegrees(a float64) float64 { return math.Remainder(a, 360) }
