package vision

// Box is x, y, width, height in pixels of the full-resolution frame, origin top-left. It may reach past
// the frame's border: a face that is partly outside keeps its true size.
type Box [4]float64

// Face is one detection.
type Face struct {
	Box       Box
	Score     float64      // 0..1
	KeyPoints [][2]float64 // px; first three: the subject's right eye, left eye, nose tip
}

// IoU is intersection over union, 0 for an empty box.
func (b Box) IoU(o Box) float64 {
	w := min(b[0]+b[2], o[0]+o[2]) - max(b[0], o[0])
	h := min(b[1]+b[3], o[1]+o[3]) - max(b[1], o[1])
	if w <= 0 || h <= 0 {
		return 0
	}
	both := w * h
	return both / (b[2]*b[3] + o[2]*o[3] - both)
}

// Center is the middle of the box.
func (b Box) Center() (x, y float64) { return b[0] + b[2]/2, b[1] + b[3]/2 }

// Contains tells whether a point lies in the box.
func (b Box) Contains(x, y float64) bool {
	return x >= b[0] && x <= b[0]+b[2] && y >= b[1] && y <= b[1]+b[3]
}

// PointsBox is the upright bounding box of face points, px; the zero box when there are none.
func PointsBox(points [][3]float64) Box {
	if len(points) == 0 {
		return Box{}
	}
	x0, y0, x1, y1 := points[0][0], points[0][1], points[0][0], points[0][1]
	for _, p := range points[1:] {
		x0, x1, y0, y1 = min(x0, p[0]), max(x1, p[0]), min(y0, p[1]), max(y1, p[1])
	}
	return Box{x0, y0, x1 - x0, y1 - y0}
}
