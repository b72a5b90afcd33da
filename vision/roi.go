package vision

import (
	"errors"
	"fmt"
	"math"

	"facetrack/topology"
)

// ErrROI is wrapped by errors about a region that cannot be cropped.
var ErrROI = errors.New("vision: bad region of interest")

// ROI is a rotated square in the frame. Rotation is in radians, clockwise on the screen: the direction of
// the square's own x axis, which runs from the subject's right eye to the left one.
type ROI struct {
	CX, CY   float64 // centre, px
	Size     float64 // side, px
	Rotation float64
}

// Margin is how much larger a region is than the long side of the face it is made from; the landmark
// network was trained with it.
const Margin = 1.5

// Validate refuses regions that are not finite, empty or absurdly far from any frame.
func (r ROI) Validate() error {
	for _, v := range [...]float64{r.CX, r.CY, r.Rotation} {
		if !(math.Abs(v) <= 4*maxSide) {
			return fmt.Errorf("%w: %+v is not finite or far outside any frame", ErrROI, r)
		}
	}
	if !(r.Size >= 1 && r.Size <= 4*maxSide) {
		return fmt.Errorf("%w: side of %g px; use 1 to %d", ErrROI, r.Size, 4*maxSide)
	}
	return nil
}

// Frame maps (x, y) of the unit square to the frame.
func (r ROI) Frame(x, y float64) (float64, float64) { return r.affine()(x, y) }

// affine is Frame with its sine and cosine computed once.
func (r ROI) affine() func(x, y float64) (float64, float64) {
	sin, cos := math.Sincos(r.Rotation)
	return func(x, y float64) (float64, float64) {
		x, y = (x-0.5)*r.Size, (y-0.5)*r.Size
		return r.CX + x*cos - y*sin, r.CY + x*sin + y*cos
	}
}

// Unit is the inverse of Frame.
func (r ROI) Unit(x, y float64) (float64, float64) {
	sin, cos := math.Sincos(r.Rotation)
	x, y = (x-r.CX)/r.Size, (y-r.CY)/r.Size
	return x*cos + y*sin + 0.5, -x*sin + y*cos + 0.5
}

// Scaled grows the region about its centre.
func (r ROI) Scaled(factor float64) ROI {
	r.Size *= factor
	return r
}

// ROIFromFace makes the region for a detection: the box's centre, its long side times Margin, rotated so
// that the eyes (key points 0 and 1) are level. Without key points it is upright.
func ROIFromFace(f Face) ROI {
	r := ROI{CX: f.Box[0] + f.Box[2]/2, CY: f.Box[1] + f.Box[3]/2, Size: max(f.Box[2], f.Box[3]) * Margin}
	if len(f.KeyPoints) >= 2 {
		r.Rotation = direction(f.KeyPoints[0], f.KeyPoints[1])
	}
	return r
}

// ROIFromPoints makes the next frame's region from a face's own points, whose number tells their set: rotated so that the outer
// eye corners are level, centred on the points' bounding box in that rotated frame, its long side times
// Margin. The result turns with the face, so a tilted head is not cropped wider than an upright one.
func ROIFromPoints(points [][3]float64) (ROI, error) {
	set, ok := topology.OfCount(len(points))
	if !ok {
		return ROI{}, fmt.Errorf("%w: no set of points has %d", ErrROI, len(points))
	}
	a, b := points[set.Eyes[0].Outer], points[set.Eyes[1].Outer]
	r := ROI{Size: 1, Rotation: direction([2]float64{a[0], a[1]}, [2]float64{b[0], b[1]})}
	sin, cos := math.Sincos(r.Rotation)
	x0, y0, x1, y1 := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, p := range points {
		x, y := p[0]*cos+p[1]*sin, p[1]*cos-p[0]*sin
		x0, x1, y0, y1 = min(x0, x), max(x1, x), min(y0, y), max(y1, y)
	}
	x, y := (x0+x1)/2, (y0+y1)/2
	r.CX, r.CY = x*cos-y*sin, x*sin+y*cos
	r.Size = max(x1-x0, y1-y0) * Margin
	return r, r.Validate()
}

func direction(from, to [2]float64) float64 { return math.Atan2(to[1]-from[1], to[0]-from[0]) }
