package track

import "math"

const (
	lookSeconds  = 4.0  // time constant of an identity's appearance
	lookLearning = 8    // sights after which the similarity statistics are trusted
	lookFloor    = 0.04 // least standard deviation of the similarity
	lookUnsure   = 0.1  // the same while learning, or when another face may be mixed in
)

// look is an identity's appearance: a slow mean of its descriptors, and how similar the identity is
// to its own mean from frame to frame, which calibrates every comparison against it.
type look struct {
	mean     []float64 // unit length
	sights   int
	similar  float64 // running mean of the similarity to itself
	variance float64
	rough    bool // learnt from mixed descriptors only: good until the first clean one
}

// compare returns the cosine similarity of a descriptor; ok is false when there is nothing to compare.
func (l *look) compare(d []float64) (similarity float64, ok bool) {
	if l.sights == 0 || len(d) != len(l.mean) {
		return 0, false
	}
	return dot(l.mean, d), true
}

// mismatch returns how many standard deviations a similarity falls short of what is usual, and that
// standard deviation.
func (l *look) mismatch(similarity float64, crowded bool) (deviations, sd float64) {
	usual := l.similar
	sd = math.Max(math.Sqrt(l.variance), lookFloor)
	if l.sights < lookLearning || l.rough || crowded {
		usual, sd = math.Min(usual, 0.85), math.Max(sd, lookUnsure)
	}
	return math.Max(0, (usual-similarity)/sd), sd
}

// learn takes a descriptor into the mean: at once while young, slowly later, hardly at all when it
// does not fit. A crowded one only serves until there is a clean one.
func (l *look) learn(d []float64, seconds float64, crowded bool) {
	if len(d) == 0 || crowded && l.sights > 0 && !l.rough {
		return
	}
	if l.sights == 0 || len(d) != len(l.mean) || l.rough && !crowded {
		*l = look{mean: append([]float64(nil), d...), sights: 1, similar: 1, rough: crowded}
		return
	}
	similarity := dot(l.mean, d)
	rate := math.Max(1/float64(l.sights+1), 1-math.Exp(-seconds/lookSeconds))
	rate = math.Min(rate, 0.5)
	if z, _ := l.mismatch(similarity, false); l.sights >= lookLearning && z > 3 {
		rate *= 0.05
	}
	l.calibrate(similarity)
	for i := range l.mean {
		l.mean[i] += rate * (d[i] - l.mean[i])
	}
	if n := norm(l.mean); n > 1e-9 {
		scale(l.mean, 1/n)
	}
	l.sights++
}

// calibrate updates the statistics of the similarity; outliers count at most three deviations.
func (l *look) calibrate(similarity float64) {
	rate := math.Max(1/float64(l.sights), 0.02)
	diff := similarity - l.similar
	if l.sights >= lookLearning {
		limit := 3 * math.Max(math.Sqrt(l.variance), lookFloor)
		diff = math.Max(-limit, math.Min(limit, diff))
	}
	l.similar += rate * diff
	l.variance += rate * (diff*diff - l.variance)
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func norm(a []float64) float64 { return math.Sqrt(dot(a, a)) }

func scale(a []float64, by float64) {
	for i := range a {
		a[i] *= by
	}
}

// unit returns a copy of unit length.
func unit(a []float64) []float64 {
	u := append([]float64(nil), a...)
	scale(u, 1/norm(u))
	return u
}
