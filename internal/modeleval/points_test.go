package modeleval

import (
	"math"
	"math/rand/v2"
	"testing"

	"facetrack/topology"
	"facetrack/track"
	"facetrack/vision"
)

// turnedFace is a made-up face whose eyes are 100 px apart along a direction.
func turnedFace(angle float64) (m marks, x, y [2]float64) {
	sin, cos := math.Sincos(angle)
	x, y = [2]float64{cos, sin}, [2]float64{-sin, cos}
	for i := range m {
		a := float64(i)
		m[i] = [2]float64{200 + 30*math.Cos(a), 200 + 40*math.Sin(a)}
	}
	m[rightCorner] = [2]float64{200 - 50*x[0], 200 - 50*x[1]}
	m[leftCorner] = [2]float64{200 + 50*x[0], 200 + 50*x[1]}
	return m, x, y
}

func shifted(m marks, from, to int, by [2]float64) marks {
	for i := from; i < to; i++ {
		m[i][0] += by[0]
		m[i][1] += by[1]
	}
	return m
}

// Mouths lie 6 px to the chin and 8 px to the left in every face, however it is turned: that is an offset and no error.
func TestPointsOffsetsAreInTheFacesAxes(t *testing.T) {
	var pairs []pair
	for i := range 8 {
		theirs, x, y := turnedFace(float64(i) * 0.7)
		ours := shifted(theirs, 48, 68, [2]float64{8*x[0] + 6*y[0], 8*x[1] + 6*y[1]})
		pairs = append(pairs, pair{ours, theirs, 0})
	}
	far, _, _ := turnedFace(0)
	pairs = append(pairs, pair{shifted(far, 0, 68, [2]float64{30, 40}), far, -70})
	p := measurePoints(pairs, nil, nil)
	if p.Faces != 8 || p.Turned.Faces != 1 {
		t.Errorf("%d faces, %d turned", p.Faces, p.Turned.Faces)
	}
	near(t, "median", p.Median, 0.1*20/68)
	near(t, "ninth tenth", p.P90, 0.1*20/68)
	near(t, "without offsets", p.Remaining, 0)
	near(t, "turned", p.Turned.Median, 0.5)
	for _, g := range p.Groups {
		want := 0.0
		if g.Name == "mouth" {
			want = 0.1
			near(t, "offset to the left", g.Offset[0], 0.08)
			near(t, "offset to the chin", g.Offset[1], 0.06)
		}
		near(t, g.Name, g.Median, want)
	}
	near(t, "a corner of the mean face", p.shape[leftCorner][0], 0.5)
	near(t, "the other", p.shape[rightCorner][0], -0.5)
	common := marks{}
	again := measurePoints(pairs, &common, p.Offsets)
	near(t, "with other offsets", again.Remaining, 0.1*20/68)
	near(t, "without definitions", again.Undefined, 0)
	if again.Offsets != nil || p.Undefined != 0 {
		t.Error("offsets of others are no result")
	}
}

func TestQuantiles(t *testing.T) {
	values := []float64{5, 1, 4, 2, 3}
	near(t, "median", median(values), 3)
	near(t, "ninth tenth", quantile(values, 0.9), 4.6)
	near(t, "of nothing", median(nil), 0)
	near(t, "of one", quantile([]float64{7}, 0.9), 7)
	near(t, "correlation", correlation([]float64{1, 2, 3}, []float64{-2, -4, -6}), -1)
	near(t, "of what stands still", correlation([]float64{1, 1, 1}, []float64{1, 2, 3}), 0)
	near(t, "deviation", deviation([]float64{1, 3}), 1)
}

// Two people whose mean differs: within each face both networks agree, over all faces they do not.
func TestShapes(t *testing.T) {
	const jaw, smile = 25, 44 // the first varies
	var all []shown
	for i := range 20 {
		s := shown{face: i % 2, ours: make([]float64, 52), theirs: make([]float64, 52)}
		v := 0.1 * float64(i/2%4)
		s.theirs[jaw], s.ours[jaw] = v, v/2
		if i%2 == 1 {
			s.ours[jaw] = 0.5 + v/2
		}
		s.theirs[smile], s.ours[smile] = 0.3, 0.4
		all = append(all, s)
	}
	s := measureShapes(all)
	if s.Varying != 1 || s.Coefficients[0].Name != vision.BlendshapeNames[jaw] {
		t.Fatalf("%+v", s.Coefficients)
	}
	near(t, "within faces", s.Coefficients[0].WithinFace, 1)
	if r := s.Coefficients[0].Correlation; r < 0.1 || r > 0.5 {
		t.Errorf("over all faces %g", r)
	}
	near(t, "bias", s.Coefficients[0].Bias, 0.25-mean(series(all, jaw, func(s shown) []float64 { return s.theirs }))/2)
	jawDifference := s.Coefficients[0].Difference
	near(t, "mean difference", s.Difference, (jawDifference+0.1)/52)
}

func TestPose(t *testing.T) {
	var all []posed
	for _, yaw := range []float64{-30, 0, 30} {
		all = append(all, posed{track.RotationFromAngles(0, yaw+4, 0), track.RotationFromAngles(0, yaw, 0)})
	}
	p := measurePose(all)
	if math.Abs(p.Median-4) > 1e-6 || math.Abs(p.Yaw-4) > 1e-6 || math.Abs(p.Pitch) > 1e-6 {
		t.Errorf("%+v", p)
	}
	near(t, "from 170° to -170°", wrapped(-170-170), 20)
}

// Who looks at the camera from beside its axis looks along the line of sight.
func TestAlongTheLineOfSight(t *testing.T) {
	position := [3]float64{30, -10, 60}
	r := along(position)
	for k, want := range [3]float64{0, 0, math.Sqrt(30*30 + 10*10 + 60*60)} {
		near(t, "position", r[k][0]*position[0]+r[k][1]*position[1]+r[k][2]*position[2], want)
	}
	var identity track.Rotation
	for i := range 3 {
		identity[i][i] = 1
	}
	var back track.Rotation
	for i := range 3 {
		for j := range 3 {
			back[i][j] = r[j][i]
		}
	}
	if d := between(times(r, back), identity); d > 1e-6 {
		t.Errorf("no rotation: %g°", d)
	}
	if d := between(along([3]float64{0, 0, 50}), identity); d > 1e-6 {
		t.Errorf("on the axis: %g°", d)
	}
}

func TestEmptyRegionsStayAwayFromFaces(t *testing.T) {
	m := vision.Image{Width: 640, Height: 480}
	boxes := []vision.Box{{200, 150, 200, 200}}
	dice := rand.New(rand.NewPCG(1, 1))
	count := 0
	for range 50 {
		for _, r := range emptyRegions(dice, m, boxes, 4) {
			count++
			for _, corner := range [][2]float64{{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0.5, 0.5}} {
				if x, y := r.Frame(corner[0], corner[1]); boxes[0].Contains(x, y) {
					t.Fatalf("%+v reaches into the face", r)
				}
			}
			if r.Size < 48 || r.Size > 240 {
				t.Errorf("side %g", r.Size)
			}
		}
	}
	if count < 100 {
		t.Errorf("%d regions", count)
	}
	if r := emptyRegions(dice, m, []vision.Box{{0, 0, 640, 480}}, 4); len(r) != 0 {
		t.Errorf("a face everywhere, and %+v", r)
	}
	var p Presence
	p.add(Presence{Faces: 3, Seen: 2, Empty: 4, Alarms: 1})
	p.add(Presence{Faces: 1, Seen: 1, Empty: 4, theirs: 2})
	near(t, "seen", p.SeenShare, 0.75)
	near(t, "false alarms", p.AlarmShare, 0.125)
	near(t, "the reference's", p.TheirAlarmShare, 0.25)
}

func TestErrorsAgainstTheTruth(t *testing.T) {
	var c truthCrop
	c.Points = make([][]float64, 68)
	points := make([][3]float64, 68)
	for i := range c.Points {
		c.Points[i] = []float64{float64(i), 50, 0}
		points[i] = [3]float64{float64(i), 53, 9} // 3 px off, whatever its depth
	}
	c.Points[rightCorner], points[rightCorner] = []float64{0, 0, 40}, [3]float64{0, 3, 0}
	c.Points[leftCorner], points[leftCorner] = []float64{30, 0, 0}, [3]float64{30, 3, 0}
	c.Coefficients = []float64{0.5, 0.2}
	set := &topology.Topology{Count: 68}
	for i := range set.MultiPIE {
		set.MultiPIE[i] = i
	}
	var all tested
	all.add(&networks{set: set}, &c, vision.FaceResult{Points: points, Blendshapes: []float64{0.6, 0.2}})
	k := all.truth()
	near(t, "in three dimensions", k.Error3D, 3.0/50)
	near(t, "in two", k.Error2D, 3.0/30)
	near(t, "all points", k.All, 3.0/50)
	near(t, "straight ones", k.Straight, 3.0/50)
	near(t, "coefficients", k.Coefficients, 0.05)
	for _, g := range k.Groups {
		near(t, g.Name, g.Error, 3.0/50)
	}
}
