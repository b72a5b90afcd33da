package synchrony

// peaks finds the local maximum of r nearest to the middle, lag 0, and the highest one, of equals
// that nearer to the middle; -1 if there is none.
func peaks(r []float64, span int) (nearest, highest int) {
	nearest, highest = -1, -1
	middle := len(r) / 2
	for d := range middle + 1 {
		i := higher(r, pick(r, middle+d, span), pick(r, middle-d, span))
		if nearest < 0 {
			nearest = i
		}
		highest = higher(r, highest, i)
	}
	return nearest, highest
}

// higher is the place of the higher of two maxima as refined, of equals i; -1 is none.
func higher(r []float64, i, j int) int {
	if i < 0 || j < 0 {
		return max(i, j)
	}
	first, _ := refine(r, i)
	if second, _ := refine(r, j); second > first {
		return j
	}
	return i
}

// pick is i if r never rises on the way from there to i±span and ends lower, else -1. NaN on the way
// is no peak.
func pick(r []float64, i, span int) int {
	if i < span || i+span >= len(r) || !(r[i-span] < r[i] && r[i+span] < r[i]) {
		return -1
	}
	for s := range span {
		if !(r[i-s-1] <= r[i-s] && r[i+s+1] <= r[i+s]) {
			return -1
		}
	}
	return i
}

// refine puts a parabola through a maximum and its neighbours: its height and place.
func refine(r []float64, i int) (height, place float64) {
	left, top, right := r[i-1], r[i], r[i+1]
	place = float64(i)
	if bend := left - 2*top + right; bend < 0 {
		shift := (left - right) / (2 * bend)
		place += shift
		top -= (left - right) * shift / 4
	}
	return clamp(top), place
}
