// Package topology says which place of a face each point of a landmark network stands for.
//
// There are two sets: [MediaPipe] has the 478 points of the public networks, [ICT] the 293 of the project's own ones, which are places
// on ICT-FaceKit's mesh (https://github.com/ICT-VGL/ICT-FaceKit, MIT licence). Messages name the set of their points. Right and
// left are the subject's.
package topology

// Topology is a set of points. What it lists are indices into the points of a face.
type Topology struct {
	Name  string
	Count int
	Eyes  [2]Eye // right, left
	// Stable move with the skull rather than with expressions or the jaw; those on outlines count less, since a network places them where the
	// outline appears to be.
	Stable []Weighted
	// MultiPIE are the points nearest to the 68 of the Multi-PIE scheme, which many data sets have: jaw from the right ear to the left, brows,
	// ridge and base of the nose, eyes, lips outside and inside.
	MultiPIE [68]int
	Lips     [2][]int // closed lines along their outer and inner edge, from the right corner over the upper lip
	// InterocularMM is the distance between the middles of the eyes of the head that poses are measured against.
	InterocularMM float64
	// EyeBack and EyeUp are from the middle of an eye's corners to the centre about which it turns, along the head's axes, cm.
	EyeBack, EyeUp float64

	head func() [][3]float64
}

// Eye is one eye's points.
type Eye struct {
	Outer, Inner int   // corners
	Upper, Lower int   // middles of the lids
	Lids         []int // closed line along their edges, from the outer corner over the upper lid
	Iris         int   // centre
	Limbus       []int // closed line around the iris
}

// Weighted is a point and how much it counts.
type Weighted struct {
	Index  int
	Weight float64 // > 0
}

var all = []*Topology{MediaPipe, ICT}

// Named returns the set that a message names. Recordings from before there were two name none: theirs is MediaPipe.
func Named(name string) (*Topology, bool) {
	if name == "" {
		return MediaPipe, true
	}
	for _, t := range all {
		if t.Name == name {
			return t, true
		}
	}
	return nil, false
}

// OfCount returns the set with so many points, which tells the sets apart where there is nothing but points.
func OfCount(points int) (*Topology, bool) {
	for _, t := range all {
		if t.Count == points {
			return t, true
		}
	}
	return nil, false
}

// Head returns the set's points on a mean head in cm: x to the subject's left, y up, z out of the face, origin 5 cm behind and 3 cm
// below the nasal bridge. It is nil for a set whose head comes with the networks. The slice is the caller's.
func (t *Topology) Head() [][3]float64 {
	if t.head == nil {
		return nil
	}
	return t.head()
}

// mirrored pairs a point on the right with its twin on the left.
type mirrored struct {
	right, left int
	weight      float64
}

// stable are points of the midline, then both of each pair.
func stable(middle []Weighted, pairs []mirrored) []Weighted {
	points := make([]Weighted, 0, len(middle)+2*len(pairs))
	points = append(points, middle...)
	for _, p := range pairs {
		points = append(points, Weighted{p.right, p.weight}, Weighted{p.left, p.weight})
	}
	return points
}
