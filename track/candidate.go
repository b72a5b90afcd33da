package track

import "math"

// candidate is a usable face with what association needs to know about it.
type candidate struct {
	index   int
	face    *Face
	x, y    float64 // box centre, px
	size    float64 // √(w·h), px: the unit of all distances
	shape   shape
	look    []float64 // unit length, or nil
	crowded bool      // another face overlaps this one: its appearance may be mixed
}

func newCandidate(index int, f *Face) *candidate {
	c := &candidate{
		index: index, face: f,
		x: f.Box[0] + f.Box[2]/2, y: f.Box[1] + f.Box[3]/2,
		size:  math.Sqrt(f.Box[2] * f.Box[3]),
		shape: shapeOf(f.Points),
	}
	if len(f.Appearance) > 0 {
		c.look = unit(f.Appearance)
	}
	return c
}

// duplicates tells whether c shows the same physical face as one of the kept ones. Two people may
// overlap a lot while they cross, but their landmarks never coincide; boxes alone must nearly do.
func duplicates(c *candidate, kept []*candidate) bool {
	for _, k := range kept {
		size := math.Min(c.size, k.size)
		a, b := c.face.Points, k.face.Points
		if len(a) >= shapeMinimum && len(a) == len(b) {
			if meanDistance(a, b) < 0.12*size {
				return true
			}
			continue
		}
		if iou(c.face.Box, k.face.Box) > 0.7 {
			return true
		}
	}
	return false
}

func meanDistance(a, b [][3]float32) float64 {
	sum := 0.0
	for i := range a {
		dx, dy := float64(a[i][0]-b[i][0]), float64(a[i][1]-b[i][1])
		sum += math.Sqrt(dx*dx + dy*dy)
	}
	return sum / float64(len(a))
}

// intersection returns the common area of two boxes in px².
func intersection(a, b [4]float64) float64 {
	w := math.Min(a[0]+a[2], b[0]+b[2]) - math.Max(a[0], b[0])
	h := math.Min(a[1]+a[3], b[1]+b[3]) - math.Max(a[1], b[1])
	if w <= 0 || h <= 0 {
		return 0
	}
	return w * h
}

// iou is intersection over union of two boxes.
func iou(a, b [4]float64) float64 {
	common := intersection(a, b)
	return common / (a[2]*a[3] + b[2]*b[3] - common)
}

// overlaps tells whether b covers a noticeable part of a or the other way round.
func overlaps(a, b [4]float64) bool {
	return intersection(a, b) > 0.1*math.Min(a[2]*a[3], b[2]*b[3])
}
