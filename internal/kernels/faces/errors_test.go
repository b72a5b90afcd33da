package faces

import (
	"errors"
	"testing"
)

func TestLaunchesThatCannotBe(t *testing.T) {
	var s Set
	good := [3]uint64{256, 512, 1024}
	yunet := YuNet{Size: 64, Cls: good, Obj: good, Box: good, Points: good}
	crooked := yunet
	crooked.Box[1] = 520
	c, blaze := CandidatesAt(256, YuNetPriors(64), 2), CandidatesAt(256, BlazeFacePriors, 2)
	reduction := Reduction{KeyPoints: 5, IoU: 0.3, MaxFaces: 32}
	greedy := Reduction{KeyPoints: 5, IoU: 0.3, MaxFaces: MostCandidates + 1}
	at := PointsAt{Raw: 256, Presence: 256, Regions: 256, Records: 256, Places: 256, RegionBytes: 104}
	shapes, unplaced := at, at
	shapes.Blendshapes, unplaced.Places = 256, 0
	for name, err := range map[string]error{
		"more frames than memory": s.DecodeYuNet(nil, yunet, 0.6, c, 3),
		"no frames":               s.DecodeYuNet(nil, yunet, 0.6, c, 0),
		"another size":            s.DecodeYuNet(nil, yunet, 0.6, blaze, 1),
		"crooked output":          s.DecodeYuNet(nil, crooked, 0.6, c, 1),
		"priors of a YuNet":       s.DecodeBlazeFace(nil, 256, 256, 0.5, c, 1),
		"no scores":               s.DecodeBlazeFace(nil, 256, 0, 0.5, blaze, 1),
		"too many faces":          s.Reduce(nil, greedy, c, 256, 24, 256, 1),
		"no mapping":              s.Reduce(nil, reduction, c, 0, 24, 256, 1),
		"crooked records":         s.Reduce(nil, reduction, c, 256, 24, 264, 1),
		"few points":              s.Points(nil, Mesh{Points: 200, Size: 192}, at, 1),
		"many points":             s.Points(nil, Mesh{Points: 2000, Size: 192}, at, 1),
		"no irises":               s.Points(nil, Mesh{Points: 468, Size: 192}, shapes, 1),
		"no places":               s.Points(nil, Mesh{Points: 478, Size: 192}, unplaced, 1),
		"no faces":                s.Points(nil, Mesh{Points: 478, Size: 192}, at, 0),
		"no records":              s.Collect(nil, Mesh{Points: 478, Size: 192}, 256, 0, 1),
	} {
		if !errors.Is(err, ErrLaunch) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
