package modeleval

import (
	"math"

	"facetrack/topology"
)

const farTurned = 60 // degrees of yaw

// marks are the 68 points of Multi-PIE, px.
type marks [68][2]float64

func marksOf(set *topology.Topology, points [][3]float64) (m marks) {
	for i, p := range set.MultiPIE {
		m[i] = [2]float64{points[p][0], points[p][1]}
	}
	return m
}

// Outer corners of the eyes, the subject's right before the left.
const rightCorner, leftCorner = 36, 45

var groups = []struct {
	name     string
	from, to int
}{{"jaw", 0, 17}, {"brows", 17, 27}, {"nose", 27, 36}, {"eyes", 36, 48}, {"mouth", 48, 68}}

// pair is one face as both networks place it.
type pair struct {
	ours, theirs marks
	yaw          float64 // by the reference, degrees
}

func (p *pair) turned() bool { return math.Abs(p.yaw) > farTurned }

// differences are those of the points in the face's own axes, in distances between the corners of the eyes.
func (p *pair) differences() marks { return p.ours.less(&p.theirs, &p.theirs) }

// less takes other points off, in the axes of a face.
func (m *marks) less(other, face *marks) (d marks) {
	x, y := face[leftCorner][0]-face[rightCorner][0], face[leftCorner][1]-face[rightCorner][1]
	scale := x*x + y*y
	if scale == 0 {
		return d
	}
	for i := range d {
		dx, dy := m[i][0]-other[i][0], m[i][1]-other[i][1]
		d[i] = [2]float64{(dx*x + dy*y) / scale, (dy*x - dx*y) / scale}
	}
	return d
}

// Points are differences of the 68 points, in parts of the distance between the outer corners of the eyes.
type Points struct {
	Faces int `json:"faces"` // not turned away
	// Of our loop: faces of the reference that it did not follow, turned ones too; what it followed, and how much of that is no face, for the
	// reference detector neither.
	Missing  int `json:"missing,omitempty"`
	Followed int `json:"followed,omitempty"`
	Ghosts   int `json:"ghosts,omitempty"`

	Spread
	Groups  []Group `json:"groups"`
	Offsets *marks  `json:"offsets,omitempty"` // mean difference of each point
	shape   marks   // mean of the reference's points in the face's own axes, the middle between the corners of the eyes at 0
	Turned  struct {
		Faces int `json:"faces"`
		Spread
	} `json:"turned"`
}

// Spread sums up the differences of many faces.
type Spread struct {
	Median float64 `json:"median"`
	P90    float64 `json:"p90"`
	// Remaining is the median once the mean difference of each point is taken off, Undefined once that is which the true points of rendered
	// faces have from the reference's; 0 without.
	Remaining float64 `json:"median_without_offsets"`
	Undefined float64 `json:"median_without_definitions,omitempty"`
}

// Group is a part of the face.
type Group struct {
	Name string `json:"name"`
	Spread
	Offset [2]float64 `json:"offset"` // mean of its points
}

// measurePoints takes off the offsets that are common to all clips, else those of the pairs themselves, and those of definitions if they are known.
func measurePoints(pairs []pair, common, definitions *marks) (out Points) {
	var straight, turned []marks
	for i := range pairs {
		if pairs[i].turned() {
			turned = append(turned, pairs[i].differences())
		} else {
			straight = append(straight, pairs[i].differences())
		}
	}
	out.Faces, out.Turned.Faces = len(straight), len(turned)
	own := offsets(straight)
	offset := own
	out.shape = meanShape(pairs)
	if out.Offsets = &own; common != nil {
		offset, out.Offsets = *common, nil
	}
	out.Spread = spread(straight, offset, definitions, 0, len(offset))
	out.Turned.Spread = spread(turned, offset, definitions, 0, len(offset))
	for _, g := range groups {
		group := Group{Name: g.name, Spread: spread(straight, offset, definitions, g.from, g.to)}
		group.Offset = middle(own[g.from:g.to])
		out.Groups = append(out.Groups, group)
	}
	return out
}

// meanShape leaves out faces that are turned away.
func meanShape(pairs []pair) marks {
	var all []marks
	for i := range pairs {
		if p := &pairs[i]; !p.turned() {
			corners := [][2]float64{p.theirs[rightCorner], p.theirs[leftCorner]}
			between := marks{}
			for k := range between {
				between[k] = middle(corners)
			}
			all = append(all, p.theirs.less(&between, &p.theirs))
		}
	}
	return offsets(all)
}

func middle(points [][2]float64) (m [2]float64) {
	for _, p := range points {
		m[0] += p[0] / float64(len(points))
		m[1] += p[1] / float64(len(points))
	}
	return m
}

func offsets(all []marks) (sum marks) {
	for _, d := range all {
		for i := range d {
			sum[i][0] += d[i][0] / float64(len(all))
			sum[i][1] += d[i][1] / float64(len(all))
		}
	}
	return sum
}

func spread(all []marks, offset marks, definitions *marks, from, to int) Spread {
	whole, rest := away(all, marks{}, from, to), away(all, offset, from, to)
	s := Spread{Median: median(whole), P90: quantile(whole, 0.9), Remaining: median(rest)}
	if definitions != nil {
		s.Undefined = median(away(all, *definitions, from, to))
	}
	return s
}

// away is how far the points of each face lie from an offset, on average.
func away(all []marks, offset marks, from, to int) []float64 {
	out := make([]float64, len(all))
	for k, d := range all {
		for i := from; i < to; i++ {
			out[k] += math.Hypot(d[i][0]-offset[i][0], d[i][1]-offset[i][1]) / float64(to-from)
		}
	}
	return out
}
