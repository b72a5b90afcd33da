package modeleval

import (
	"math"

	"facetrack/track"
	"facetrack/vision"
)

// tested are faces from one kind of region.
type tested struct {
	error3D, straight, error2D, all, coefficients, pose []float64
	groups                                              [][]float64
}

func (t *tested) add(net *networks, c *truthCrop, f vision.FaceResult) {
	ours, scale := marksOf(net.set, f.Points), c.corners(3)
	away := make([]float64, len(ours))
	for i, p := range ours {
		away[i] = math.Hypot(p[0]-c.Points[i][0], p[1]-c.Points[i][1]) / scale
	}
	t.error3D = append(t.error3D, mean(away))
	if math.Abs(c.Pose[1]) <= farTurned {
		t.straight = append(t.straight, mean(away))
	}
	t.error2D = append(t.error2D, mean(away)*scale/max(c.corners(2), 1e-3*scale))
	if t.groups == nil {
		t.groups = make([][]float64, len(groups))
	}
	for i, g := range groups {
		t.groups[i] = append(t.groups[i], mean(away[g.from:g.to]))
	}
	if len(f.Points) == len(c.Points) {
		dense := make([]float64, len(f.Points))
		for i, p := range f.Points {
			dense[i] = math.Hypot(p[0]-c.Points[i][0], p[1]-c.Points[i][1]) / scale
		}
		t.all = append(t.all, mean(dense))
	}
	for i, v := range f.Blendshapes {
		t.coefficients = append(t.coefficients, math.Abs(v-c.Coefficients[i]))
	}
	if f.Turn != nil {
		t.pose = append(t.pose, between(track.Rotation(*f.Turn), c.apparent()))
	}
}

func (t *tested) truth() Truth {
	out := Truth{
		Faces: len(t.error3D), Error3D: mean(t.error3D), Error2D: mean(t.error2D), Median: median(t.error3D), Straight: mean(t.straight), All: mean(t.all),
		Coefficients: mean(t.coefficients), Pose: mean(t.pose), Groups: []Part{},
	}
	for i, g := range groups[:min(len(groups), len(t.groups))] {
		out.Groups = append(out.Groups, Part{g.name, mean(t.groups[i])})
	}
	return out
}
