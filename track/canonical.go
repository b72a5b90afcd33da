package track

// mirrored pairs a point on the subject's right with its twin on the left (478-point topology).
type mirrored struct {
	right, left int
	weight      float64
}

// StablePoints lists the points of the 478-point topology that move with the skull rather than with
// expressions or the jaw: forehead, bridge and tip of the nose, corners of the eyes, rim of the orbit,
// cheekbones, temples. Points on the outline count less: a network places them where the outline
// appears to be. The order is fixed; the slice is the caller's.
func StablePoints() []StablePoint {
	points := make([]StablePoint, 0, len(middle)+2*len(pairs))
	points = append(points, middle...)
	for _, p := range pairs {
		points = append(points, StablePoint{p.right, p.weight}, StablePoint{p.left, p.weight})
	}
	return points
}

var middle = []StablePoint{
	{10, 0.4}, {151, 0.6}, {9, 0.7}, {8, 0.8}, // hairline to glabella
	{168, 1}, {6, 1}, {197, 1}, {195, 1}, {5, 1}, // bridge of the nose
	{4, 1}, {1, 0.8}, {2, 0.6}, // tip, base
}

var pairs = []mirrored{
	{33, 263, 1},    // outer corner of the eye
	{133, 362, 1},   // inner corner of the eye
	{193, 417, 0.8}, // side of the bridge, upper
	{122, 351, 0.8}, // side of the bridge, middle
	{236, 456, 0.7}, // side of the bridge, lower
	{198, 420, 0.6}, // above the wing of the nose
	{129, 358, 0.6}, // crease of the wing
	{119, 348, 0.4}, // lower rim of the orbit
	{117, 346, 0.5}, // cheekbone, front
	{111, 340, 0.5}, // cheekbone, under the outer corner
	{143, 372, 0.5}, // outer rim of the orbit
	{116, 345, 0.4}, // cheekbone, side
	{127, 356, 0.3}, // temple at eye level
	{234, 454, 0.3}, // front of the ear
	{54, 284, 0.3},  // temple under the hairline
	{67, 297, 0.4},  // forehead under the hairline
	{104, 333, 0.5}, // forehead, side
}
