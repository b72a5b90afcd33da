package track

import (
	"errors"
	"fmt"
	"math"
)

// ErrCamera reports a camera without a usable size or field of view.
var ErrCamera = errors.New("track: unusable camera")

// Camera is a pinhole camera with square pixels, its axis through the image centre and no distortion.
type Camera struct {
	Width, Height int     // px
	HFOVDegrees   float64 // horizontal field of view, between 1 and 175
}

// Validate returns [ErrCamera] with the reason when the camera cannot be used.
func (c Camera) Validate() error {
	if c.Width <= 0 || c.Height <= 0 {
		return fmt.Errorf("%w: size %d×%d px; give the frame's size", ErrCamera, c.Width, c.Height)
	}
	if !(c.HFOVDegrees >= 1 && c.HFOVDegrees <= 175) {
		return fmt.Errorf("%w: horizontal field of view %g°; give a value between 1 and 175", ErrCamera, c.HFOVDegrees)
	}
	return nil
}

// Focal is the focal length in px.
func (c Camera) Focal() float64 {
	return float64(c.Width) / 2 / math.Tan(c.HFOVDegrees*math.Pi/360)
}

// Center is the principal point in px.
func (c Camera) Center() (x, y float64) { return float64(c.Width) / 2, float64(c.Height) / 2 }

// Project returns the image of a point of the camera frame (cm), in px; ok is false for a point that
// is not in front of the camera.
func (c Camera) Project(p [3]float64) (uv [2]float64, ok bool) {
	if !(p[2] > 0) {
		return uv, false
	}
	f := c.Focal()
	x, y := c.Center()
	return [2]float64{x + f*p[0]/p[2], y + f*p[1]/p[2]}, true
}
