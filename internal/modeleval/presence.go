package modeleval

import (
	"math"
	"math/rand/v2"

	"facetrack/vision"
)

const present = 0.5

// Presence says where our network sees a face.
type Presence struct {
	Faces      int     `json:"faces"` // that the reference sees, from its own region
	Seen       int     `json:"seen"`
	SeenShare  float64 `json:"seen_share"`
	Empty      int     `json:"empty_regions"`
	Alarms     int     `json:"false_alarms"`
	AlarmShare float64 `json:"false_alarm_share"`
	// TheirAlarmShare is the reference's on the same empty regions.
	TheirAlarmShare float64 `json:"reference_false_alarm_share"`
	theirs          int
}

func (p *Presence) add(o Presence) {
	p.Faces, p.Seen, p.Empty, p.Alarms, p.theirs = p.Faces+o.Faces, p.Seen+o.Seen, p.Empty+o.Empty, p.Alarms+o.Alarms, p.theirs+o.theirs
	p.SeenShare, p.AlarmShare = ratio(float64(p.Seen), float64(p.Faces)), ratio(float64(p.Alarms), float64(p.Empty))
	p.TheirAlarmShare = ratio(float64(p.theirs), float64(p.Empty))
}

// emptyRegions are up to n squares at random, from 48 px to half of the picture, that none of the boxes reaches into.
func emptyRegions(dice *rand.Rand, m vision.Image, boxes []vision.Box, n int) (regions []vision.ROI) {
	most := float64(m.Height) / 2
	for range 8 * n {
		r := vision.ROI{
			CX: dice.Float64() * float64(m.Width), CY: dice.Float64() * float64(m.Height),
			Size: 48 * math.Exp(dice.Float64()*math.Log(max(1, most/48))), Rotation: (dice.Float64() - 0.5) * math.Pi / 3,
		}
		if len(regions) < n && !reaches(r, boxes) {
			regions = append(regions, r)
		}
	}
	return regions
}

// reaches tells whether a box meets the circle around a region.
func reaches(r vision.ROI, boxes []vision.Box) bool {
	radius := r.Size / math.Sqrt2
	for _, b := range boxes {
		dx, dy := r.CX-max(b[0], min(r.CX, b[0]+b[2])), r.CY-max(b[1], min(r.CY, b[1]+b[3]))
		if math.Hypot(dx, dy) < radius {
			return true
		}
	}
	return false
}
