package faces

import (
	"errors"
	"testing"

	"facetrack/topology"
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
	shapes, unplaced, spread, odd := at, at, at, at
	shapes.Blendshapes, unplaced.Places, spread.Spread, odd.Coefficients = 256, 0, 256, 258
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
		"no set":                  s.Points(nil, Mesh{Size: 192}, at, 1),
		"many points":             s.Points(nil, Mesh{Set: &topology.Topology{Count: 2000}, Size: 192}, at, 1),
		"blendshapes of others":   s.Points(nil, Mesh{Set: topology.ICT, Size: 192}, shapes, 1),
		"spread from nowhere":     s.Points(nil, Mesh{Set: topology.ICT, Size: 192, Spread: true}, at, 1),
		"spread to nowhere":       s.Points(nil, mesh, spread, 1),
		"turn from nowhere":       s.Points(nil, Mesh{Set: topology.ICT, Size: 192, Turn: true}, at, 1),
		"crooked coefficients":    s.Points(nil, mesh, odd, 1),
		"no places":               s.Points(nil, mesh, unplaced, 1),
		"no faces":                s.Points(nil, mesh, at, 0),
		"no records":              s.Collect(nil, mesh, 256, 0, 1),
	} {
		if !errors.Is(err, ErrLaunch) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
