package modeleval

import (
	"cmp"
	"slices"

	"facetrack/vision"
)

// AP is an average precision at an IoU of one half.
type AP struct {
	Side      float64 `json:"side_px"` // smallest face that counts
	Faces     int     `json:"faces"`
	AP        float64 `json:"ap"`
	Recall    float64 `json:"recall"`    // at our threshold
	Precision float64 `json:"precision"` // at our threshold
}

// sought is a face of the truth; one that is not wanted may be found or not.
type sought struct {
	box    vision.Box
	wanted bool
}

// verdict is a box that counts, right or wrong.
type verdict struct {
	score float64
	right bool
}

// judge takes the boxes of one picture, best score first: each wanted face belongs to the first that has an IoU of one half with it.
func judge(found []vision.Face, faces []sought) (verdicts []verdict) {
	taken := make([]bool, len(faces))
	for _, f := range found {
		hit, most, excused := -1, 0.5, false
		for i, g := range faces {
			iou := f.Box.IoU(g.box)
			if g.wanted && !taken[i] && iou >= most {
				hit, most = i, iou
			}
			excused = excused || !g.wanted && iou >= alarmIoU
		}
		if hit >= 0 {
			taken[hit] = true
		}
		if hit >= 0 || !excused {
			verdicts = append(verdicts, verdict{f.Score, hit >= 0})
		}
	}
	return verdicts
}

// averagePrecision is the area under precision over recall, in which precision never rises with recall.
func averagePrecision(verdicts []verdict, faces int, threshold float64) (a AP) {
	sorted := slices.Clone(verdicts)
	slices.SortStableFunc(sorted, func(a, b verdict) int { return cmp.Compare(b.score, a.score) })
	precisions, recalls := make([]float64, len(sorted)), make([]float64, len(sorted))
	right := 0
	for i, v := range sorted {
		right += yes(v.right)
		precisions[i], recalls[i] = ratio(float64(right), float64(i+1)), ratio(float64(right), float64(faces))
		if v.score >= threshold {
			a.Precision, a.Recall = precisions[i], recalls[i]
		}
	}
	best := 0.0
	for i := len(sorted) - 1; i >= 0; i-- {
		best = max(best, precisions[i])
		before := 0.0
		if i > 0 {
			before = recalls[i-1]
		}
		a.AP += best * (recalls[i] - before)
	}
	a.Faces = faces
	return a
}
