package modeleval

import (
	"math"

	"facetrack/vision"
)

const (
	wantedScore, doubtScore = 0.8, 0.3 // of the reference: a face to be found; one that may be
	wantedSide, smallSide   = 32, 16   // px
	foundIoU, alarmIoU      = 0.5, 0.3
)

// Thresholds of the small table; the one in use is added.
var thresholds = []float64{0.3, 0.4, 0.5, 0.6, 0.7, 0.8}

// looked is what both detectors see in one frame.
type looked struct{ theirs, ours []vision.Face }

// Detection compares two detectors.
type Detection struct {
	Faces       []FoundFace `json:"faces"`        // those that are there for long enough
	Wanted      int         `json:"wanted"`       // faces in all frames, short ones too
	Boxes       int         `json:"boxes"`        // of ours, of 32 px
	FalseAlarms int         `json:"false_alarms"` // of these
	MeanIoU     float64     `json:"mean_iou"`     // of faces that were found
	AtThreshold []AtScore   `json:"at_threshold"`
	Recall      float64     `json:"recall"`
	Precision   float64     `json:"precision"`
	AlarmShare  float64     `json:"false_alarm_share"`
	Small       int         `json:"small"`        // faces of 16 to 32 px, which are not required
	SmallRecall float64     `json:"small_recall"` // of these
}

// FoundFace is one face of a clip.
type FoundFace struct {
	Clip   string  `json:"clip,omitempty"`
	Frames int     `json:"frames"`
	Found  int     `json:"found"`
	Side   float64 `json:"side_px"` // median
	Share  float64 `json:"share"`
}

// AtScore is how good the detector is at one threshold.
type AtScore struct {
	Threshold  float64 `json:"threshold"`
	Recall     float64 `json:"recall"`
	Precision  float64 `json:"precision"` // of boxes of 32 px: share with an IoU of 0.5
	AlarmShare float64 `json:"false_alarm_share"`
}

// measureDetection measures the frames of each clip in their order.
func measureDetection(clips []clipSeen, threshold float64) Detection {
	var d Detection
	var overlaps []float64
	for _, c := range clips {
		faces, more := foundFaces(c.frames, threshold)
		for i := range faces {
			faces[i].Clip = c.name
		}
		d.Faces, overlaps = append(d.Faces, faces...), append(overlaps, more...)
	}
	t := tally(clips, threshold)
	d.Wanted, d.Boxes, d.FalseAlarms, d.MeanIoU = t.wanted, t.boxes, t.alarms, mean(overlaps)
	d.Small, d.SmallRecall = t.small, ratio(float64(t.smallFound), float64(t.small))
	at := t.score(threshold)
	d.Recall, d.Precision, d.AlarmShare = at.Recall, at.Precision, at.AlarmShare
	for _, limit := range thresholds {
		d.AtThreshold = append(d.AtThreshold, tally(clips, limit).score(limit))
	}
	return d
}

// clipSeen is what the detectors saw in one clip.
type clipSeen struct {
	name   string
	frames []looked
}

// counts are sums over frames.
type counts struct{ wanted, found, small, smallFound, boxes, right, alarms int }

func tally(clips []clipSeen, threshold float64) (n counts) {
	for _, c := range clips {
		for _, f := range c.frames {
			n.add(f, threshold)
		}
	}
	return n
}

func (n *counts) add(f looked, threshold float64) {
	for _, face := range f.theirs {
		found := yes(best(face.Box, f.ours, threshold) >= foundIoU)
		switch {
		case wanted(face):
			n.wanted, n.found = n.wanted+1, n.found+found
		case face.Score >= wantedScore && side(face.Box) >= smallSide && side(face.Box) < wantedSide:
			n.small, n.smallFound = n.small+1, n.smallFound+found
		}
	}
	for _, face := range f.ours {
		if face.Score < threshold || side(face.Box) < wantedSide {
			continue
		}
		n.boxes++
		switch iou := best(face.Box, f.theirs, doubtScore); {
		case iou >= foundIoU:
			n.right++
		case iou < alarmIoU:
			n.alarms++
		}
	}
}

func (n counts) score(threshold float64) AtScore {
	return AtScore{
		Threshold: threshold, Recall: ratio(float64(n.found), float64(n.wanted)),
		Precision: ratio(float64(n.right), float64(n.boxes)), AlarmShare: ratio(float64(n.alarms), float64(n.boxes)),
	}
}

func wanted(f vision.Face) bool { return f.Score >= wantedScore && side(f.Box) >= wantedSide }

func side(b vision.Box) float64 { return math.Sqrt(max(b[2], 0) * max(b[3], 0)) }

// best is the largest IoU with a face of at least that score.
func best(b vision.Box, faces []vision.Face, score float64) (iou float64) {
	for _, f := range faces {
		if f.Score >= score {
			iou = max(iou, b.IoU(f.Box))
		}
	}
	return iou
}
