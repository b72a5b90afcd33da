package track

import (
	"math"
	"sync"

	"facetrack/topology"
)

// genericHead is an average adult head, for use without a canonical mesh. Its widths, heights and
// depths follow general facial anthropometry, rounded to 1 mm: 9.0 cm between the outer and 3.5 cm
// between the inner corners of the eyes, a nose 5.2 cm high and 3.5 cm wide that stands out 2 cm from
// its base, 14.6 cm across the cheekbones at the ears, the ears' front 7.6 cm behind the bridge of the
// nose. Canonical axes: x to the subject's left, y up, z out of the face; the bridge of the nose (168)
// is at (0, 3.2, 5.2), which puts the origin where canonical meshes have theirs. Points off the
// midline are given once, for the subject's left.
var genericHead = []struct {
	right, left int // the same index for points of the midline
	x, y, z     float64
	weight      float64
}{
	{10, 10, 0, 8.1, 4.3, 0.4}, {151, 151, 0, 6.4, 5.0, 0.6}, {9, 9, 0, 4.8, 5.4, 0.7},
	{168, 168, 0, 3.2, 5.2, 1}, {6, 6, 0, 2.4, 5.7, 1}, {195, 195, 0, 1.0, 6.6, 1},
	{4, 4, 0, -0.6, 7.4, 1}, {1, 1, 0, -1.1, 7.3, 0.8}, {2, 2, 0, -2.0, 5.8, 0.6},
	{33, 263, 4.5, 2.6, 3.2, 1}, {133, 362, 1.75, 2.6, 3.9, 1}, {129, 358, 1.75, -1.0, 4.9, 0.6},
	{117, 346, 5.1, 0.9, 3.1, 0.5}, {143, 372, 6.3, 2.3, 1.6, 0.5}, {127, 356, 7.4, 2.4, -1.8, 0.3},
	{234, 454, 7.3, 0.6, -2.4, 0.3}, {54, 284, 5.9, 6.5, 1.6, 0.3}, {67, 297, 3.4, 7.8, 3.6, 0.4},
}

// GenericPoseSolver returns the solver of the built-in average head, for the points of [topology.MediaPipe].
var GenericPoseSolver = sync.OnceValue(func() *PoseSolver {
	set := *topology.MediaPipe
	set.Stable = nil
	mesh := make([][3]float64, set.Count)
	for i := range mesh {
		mesh[i][0] = math.NaN()
	}
	for _, p := range genericHead {
		mesh[p.left] = [3]float64{p.x, p.y, p.z}
		set.Stable = append(set.Stable, topology.Weighted{Index: p.left, Weight: p.weight})
		if p.right != p.left {
			mesh[p.right] = [3]float64{-p.x, p.y, p.z}
			set.Stable = append(set.Stable, topology.Weighted{Index: p.right, Weight: p.weight})
		}
	}
	solver, err := NewPoseSolver(&set, mesh)
	if err != nil {
		panic("track: the built-in head is broken: " + err.Error())
	}
	return solver
})
