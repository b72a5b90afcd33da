package vision

import (
	"errors"
	"math"
	"testing"

	"facetrack/topology"
)

func TestROIFrameAndUnitAreInverse(t *testing.T) {
	r := ROI{CX: 100, CY: 50, Size: 40, Rotation: math.Pi / 2}
	x, y := r.Frame(1, 0.5) // the region's x axis points down
	near2(t, "middle of the right side", x, y, 100, 70, 1e-9)
	x, y = r.Frame(0, 0)
	near2(t, "top left corner", x, y, 120, 30, 1e-9)
	r.Rotation = -0.83
	x, y = r.Frame(0.2, 0.9)
	x, y = r.Unit(x, y)
	near2(t, "there and back", x, y, 0.2, 0.9, 1e-12)
}

func TestROIFromFace(t *testing.T) {
	f := Face{Box: Box{10, 20, 30, 40}, KeyPoints: [][2]float64{{20, 30}, {30, 40}}}
	if r := ROIFromFace(f); r != (ROI{CX: 25, CY: 40, Size: 60, Rotation: math.Pi / 4}) {
		t.Errorf("region %+v", r)
	}
	f.KeyPoints = nil
	if r := ROIFromFace(f); r.Rotation != 0 {
		t.Errorf("without key points rotated by %v", r.Rotation)
	}
}

// oval is a face of the public set's points with its eye corners level, turned by angle about (x, y).
func oval(x, y, size, angle float64) [][3]float64 {
	sin, cos := math.Sincos(angle)
	points := make([][3]float64, 478)
	put := func(i int, u, v float64) {
		points[i] = [3]float64{x + size*(u*cos-v*sin), y + size*(u*sin+v*cos), 0}
	}
	for i := range points {
		s, c := math.Sincos(2 * math.Pi * float64(i) / 478)
		put(i, 0.4*c, 0.5*s)
	}
	put(topology.MediaPipe.Eyes[0].Outer, -0.3, -0.1)
	put(topology.MediaPipe.Eyes[1].Outer, 0.3, -0.1)
	return points
}

func TestROIFromPointsTurnsWithTheFace(t *testing.T) {
	for _, angle := range []float64{0, 0.3, -0.8, 2.5} {
		r, err := ROIFromPoints(oval(200, 150, 80, angle))
		if err != nil {
			t.Fatal(err)
		}
		near2(t, "centre", r.CX, r.CY, 200, 150, 0.01)
		if math.Abs(r.Size-80*Margin) > 0.01 || math.Abs(math.Remainder(r.Rotation-angle, 2*math.Pi)) > 1e-9 {
			t.Errorf("angle %.1f: region %+v", angle, r)
		}
	}
	for _, count := range []int{0, 200, 468} {
		if _, err := ROIFromPoints(make([][3]float64, count)); !errors.Is(err, ErrROI) {
			t.Errorf("%d points: error %v", count, err)
		}
	}
	own := make([][3]float64, topology.ICT.Count)
	own[36], own[45], own[8] = [3]float64{0, 30}, [3]float64{40, 0}, [3]float64{60, 80}
	if r, err := ROIFromPoints(own); err != nil || math.Abs(r.Rotation-math.Atan2(-30, 40)) > 1e-9 {
		t.Errorf("level with the eyes of the project's own points: %+v, %v", r, err)
	}
	if _, err := ROIFromPoints(make([][3]float64, 478)); !errors.Is(err, ErrROI) {
		t.Errorf("all points in one place: error %v", err)
	}
}

func TestSuppressDuplicates(t *testing.T) {
	at := func(x, presence float64) FaceResult {
		return FaceResult{Presence: presence, Points: oval(x, 100, 60, 0)}
	}
	for name, c := range map[string]struct {
		in   []FaceResult
		want []int
	}{
		"apart":              {[]FaceResult{at(100, 0.9), at(200, 0.8)}, []int{0, 1}},
		"converged":          {[]FaceResult{at(100, 0.8), at(200, 0.7), at(102, 0.9)}, []int{1, 2}},
		"tie: earlier stays": {[]FaceResult{at(100, 0.9), at(101, 0.9)}, []int{0}},
		"neighbours touch":   {[]FaceResult{at(100, 0.9), at(130, 0.8)}, []int{0, 1}},
		"no points":          {[]FaceResult{{Presence: 1}, at(100, 0.2)}, []int{1}},
		"none":               {nil, nil},
	} {
		got := SuppressDuplicates(c.in)
		if len(got) != len(c.want) {
			t.Errorf("%s: kept %v, want %v", name, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: kept %v, want %v", name, got, c.want)
			}
		}
	}
}

func TestMatchDetections(t *testing.T) {
	known := []Box{PointsBox(oval(100, 100, 60, 0)), {300, 80, 50, 60}}
	for name, c := range map[string]struct {
		det   Face
		fresh bool
	}{
		"same face, taller box": {face(72, 55, 56, 78, 0.9), false},
		"elsewhere":             {face(180, 70, 50, 60, 0.9), true},
		"beside a known face":   {face(345, 80, 50, 60, 0.9), true},
		"same centre, half":     {face(312, 97, 26, 26, 0.9), false},
		"inside, off centre":    {face(302, 82, 12, 12, 0.9), true},
	} {
		got := MatchDetections([]Face{c.det}, known)
		if (len(got) == 1) != c.fresh {
			t.Errorf("%s: new %v, want new %t", name, got, c.fresh)
		}
	}
	if got := MatchDetections([]Face{face(0, 0, 9, 9, 1), face(300, 80, 50, 60, 1), face(0, 50, 9, 9, 1)}, known); len(got) != 2 || got[0] != 0 || got[1] != 2 {
		t.Errorf("indices %v, want [0 2]", got)
	}
}

func TestIoU(t *testing.T) {
	a := Box{0, 0, 10, 10}
	for _, c := range []struct {
		b    Box
		want float64
	}{{a, 1}, {Box{5, 0, 10, 10}, 1.0 / 3}, {Box{10, 0, 10, 10}, 0}, {Box{2, 2, 5, 5}, 0.25}, {Box{3, 3, 0, 0}, 0}} {
		if got := a.IoU(c.b); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("IoU with %v is %v, want %v", c.b, got, c.want)
		}
	}
}
