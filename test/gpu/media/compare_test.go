//go:build cuda

package media

import (
	"math"
	"slices"

	"facetrack/internal/kernels/faces"
	"facetrack/vision"
)

// limits are how far results may be from package vision on plain Go.
type limits struct {
	points float64 // px of the landmark network's input
	scores float64 // presence, blendshapes, detectors' scores
	looks  float64 // values of a look
	boxes  float64 // least IoU
}

var allowed = map[string]limits{
	"fp32": {points: 1e-3, scores: 1e-4, looks: 1e-3, boxes: 0.98},
	"fp16": {points: 0.5, scores: 0.02, looks: 0.1, boxes: 0.98},
}

// inputSide is the landmark network's.
const inputSide = 192

// difference is between what the GPU and package vision say of one region.
type difference struct {
	Points      float64 `json:"points_px"`       // of the network's input
	Frame       float64 `json:"points_frame_px"` // of the frame
	Presence    float64 `json:"presence"`
	Blendshapes float64 `json:"blendshapes"`
	Looks       float64 `json:"looks"`
	Box         float64 `json:"box_iou"`    // of the points
	Region      float64 `json:"next_iou"`   // of the next frame's region, upright
	Turn        float64 `json:"next_turns"` // of that region, radians
}

// differ compares results for the same region. Where both are sure that there is no face, blendshapes and look are missing from both; what is
// missing from one is oneSided.
func differ(got faces.Result, want vision.FaceResult) difference {
	d := difference{Presence: math.Abs(got.Presence - want.Presence)}
	for i, p := range want.Points {
		for k := range p {
			d.Frame = worse(d.Frame, got.Points[i][k]-p[k])
		}
	}
	d.Points = d.Frame * inputSide / want.ROI.Size
	if len(got.Blendshapes) == len(want.Blendshapes) {
		for i, v := range want.Blendshapes {
			d.Blendshapes = worse(d.Blendshapes, got.Blendshapes[i]-v)
		}
	}
	if len(got.Appearance) == len(want.Appearance) {
		for i, v := range want.Appearance {
			d.Looks = worse(d.Looks, got.Appearance[i]-v)
		}
	} else if len(got.Blendshapes) == len(want.Blendshapes) {
		d.Looks = noLook // both see a face
	}
	d.Box = got.Box.IoU(vision.PointsBox(want.Points))
	next, err := want.Next()
	if (err == nil) != got.HasNext {
		return difference{Points: math.Inf(1)}
	}
	d.Region = upright(got.Region).IoU(upright(next))
	d.Turn = math.Abs(math.Remainder(got.Region.Rotation-next.Rotation, 2*math.Pi))
	return d
}

// noLook is as far as values of looks, which are of unit length, can be apart.
const noLook = 2

// oneSided tells that blendshapes or a look are there on one side alone.
func oneSided(got, want vision.FaceResult) bool {
	return len(got.Blendshapes) != len(want.Blendshapes) || len(got.Appearance) != len(want.Appearance)
}

func upright(r vision.ROI) vision.Box {
	return vision.Box{r.CX - r.Size/2, r.CY - r.Size/2, r.Size, r.Size}
}

// worse is the larger of a distance and |by|, and NaN once there was one.
func worse(so, by float64) float64 {
	if math.IsNaN(by) || math.IsNaN(so) {
		return math.NaN()
	}
	return max(so, math.Abs(by))
}

// within tells that a difference is allowed; comparisons are such that NaN is not.
func (l limits) within(d difference) bool {
	return d.Points <= l.points && d.Presence <= l.scores && d.Blendshapes <= l.scores && d.Looks <= l.looks && d.Box >= l.boxes && d.Region >= l.boxes
}

// sightings are how a detector's faces differ.
type sightings struct {
	Faces  int     `json:"faces"`
	IoU    float64 `json:"least_iou"`
	Score  float64 `json:"score"`
	Missed int     `json:"missed"` // seen by one alone, although their score is not close to the threshold
	Tied   int     `json:"tied"`   // frames with another of several candidates whose scores are as good as equal
}

func (s *sightings) add(o sightings) {
	s.Faces, s.Missed, s.Tied = s.Faces+o.Faces, s.Missed+o.Missed, s.Tied+o.Tied
	s.IoU, s.Score = min(s.IoU, o.IoU), worse(s.Score, o.Score)
}

// compareFaces looks for each face of either side on the other.
func compareFaces(got, want []vision.Face, threshold float64) sightings {
	s := sightings{Faces: len(want), IoU: 1}
	for i, side := range [2][]vision.Face{want, got} {
		other := [2][]vision.Face{got, want}[i]
		for _, f := range side {
			iou, score := 0.0, 0.0
			for _, o := range other {
				if v := f.Box.IoU(o.Box); v > iou {
					iou, score = v, o.Score
				}
			}
			if iou < 0.5 && f.Score < threshold {
				continue
			}
			if iou < 0.5 {
				s.Missed++
				continue
			}
			s.IoU, s.Score = min(s.IoU, iou), worse(s.Score, f.Score-score)
		}
	}
	return s
}

// tied tells that the faces that are not among the others are candidates there too, with as good as the same score as those that won: suppression
// keeps the best of several boxes of one face, and which of two equal ones is best depends on the last digits.
func (l limits) tied(got, want, candidates []vision.Face) bool {
	near := func(f vision.Face, list []vision.Face, least float64) bool {
		return slices.ContainsFunc(list, func(o vision.Face) bool { return f.Box.IoU(o.Box) >= least && math.Abs(f.Score-o.Score) <= l.scores })
	}
	for _, f := range got {
		if !near(f, want, l.boxes) && !(near(f, candidates, l.boxes) && near(f, want, 0.5)) {
			return false
		}
	}
	return true
}
