package vision

import "sort"

// DuplicateIoU is the overlap of two faces' point boxes above which both are the same face.
const DuplicateIoU = 0.5

// SuppressDuplicates returns, in order, the indices of the results to keep: of regions that converged onto
// one face the one with the better presence stays, at a tie the earlier one. Results without points are
// dropped.
func SuppressDuplicates(results []FaceResult) []int {
	order := make([]int, 0, len(results))
	for i, r := range results {
		if len(r.Points) > 0 {
			order = append(order, i)
		}
	}
	sort.SliceStable(order, func(a, b int) bool { return results[order[a]].Presence > results[order[b]].Presence })
	var kept []int
	var boxes []Box
	for _, i := range order {
		box := PointsBox(results[i].Points)
		if !duplicate(box, boxes) {
			kept, boxes = append(kept, i), append(boxes, box)
		}
	}
	sort.Ints(kept)
	return kept
}

func duplicate(b Box, boxes []Box) bool {
	for _, o := range boxes {
		if b.IoU(o) > DuplicateIoU {
			return true
		}
	}
	return false
}

// coverIoU is low because detector boxes and point boxes outline a face differently.
const coverIoU = 0.25

// MatchDetections returns the indices of the detections that no known face covers: new faces. A face covers
// a detection when their boxes overlap with an IoU above 0.25, or when each holds the other's centre.
// faces are the point boxes (PointsBox) of the known faces in the same frame.
func MatchDetections(detections []Face, faces []Box) []int {
	var fresh []int
	for i, d := range detections {
		if !covered(d.Box, faces) {
			fresh = append(fresh, i)
		}
	}
	return fresh
}

func covered(d Box, faces []Box) bool {
	for _, f := range faces {
		if d.IoU(f) > coverIoU || d.Contains(f.Center()) && f.Contains(d.Center()) {
			return true
		}
	}
	return false
}
