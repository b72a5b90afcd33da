package vision

import "sort"

// sortByScore orders best first; equal scores keep their order.
func sortByScore(faces []Face) {
	sort.SliceStable(faces, func(i, j int) bool { return faces[i].Score > faces[j].Score })
}

// suppress keeps, best score first, every face that overlaps no better one by more than the IoU threshold.
func suppress(faces []Face, threshold float64, limit int) []Face {
	sortByScore(faces)
	kept := make([]Face, 0, min(len(faces), 8))
	for _, f := range faces {
		if len(kept) == limit {
			break
		}
		if !overlapsAny(f, kept, threshold) {
			kept = append(kept, f)
		}
	}
	return kept
}

func overlapsAny(f Face, kept []Face, threshold float64) bool {
	for i := range kept {
		if f.Box.IoU(kept[i].Box) > threshold {
			return true
		}
	}
	return false
}

// merge is suppress that moves each kept face to the score-weighted mean of the faces it suppresses, which
// steadies coarse anchors. The score stays the best one.
func merge(faces []Face, threshold float64, limit int) []Face {
	sortByScore(faces)
	var kept []Face
	for len(faces) > 0 && len(kept) < limit {
		best, rest := faces[0], faces[:0:0]
		group := faces[:0:0]
		for _, f := range faces {
			if best.Box.IoU(f.Box) > threshold {
				group = append(group, f)
			} else {
				rest = append(rest, f)
			}
		}
		if len(group) == 0 { // an empty box overlaps nothing, not even itself
			group, rest = faces[:1], faces[1:]
		}
		kept = append(kept, weightedMean(group))
		faces = rest
	}
	return kept
}

// weightedMean expects faces with the same number of key points, the best one first.
func weightedMean(group []Face) Face {
	mean := Face{Score: group[0].Score, KeyPoints: make([][2]float64, len(group[0].KeyPoints))}
	total := 0.0
	for _, f := range group {
		total += f.Score
	}
	for _, f := range group {
		w := f.Score / total
		for i := range mean.Box {
			mean.Box[i] += w * f.Box[i]
		}
		for i, p := range f.KeyPoints {
			mean.KeyPoints[i][0] += w * p[0]
			mean.KeyPoints[i][1] += w * p[1]
		}
	}
	return mean
}
