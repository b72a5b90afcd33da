package topology

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"facetrack/internal/testutil"
)

func TestSetsAreFoundByNameAndCount(t *testing.T) {
	for _, s := range all {
		named, ok := Named(s.Name)
		counted, also := OfCount(s.Count)
		if !ok || !also || named != s || counted != s {
			t.Errorf("%s: named %v, %d points %v", s.Name, named, s.Count, counted)
		}
	}
	if s, ok := Named(""); !ok || s != MediaPipe {
		t.Errorf("without a name: %v", s)
	}
	if s, ok := Named("mediapipe-468"); ok {
		t.Errorf("an unknown name: %v", s)
	}
	if s, ok := OfCount(468); ok {
		t.Errorf("an unknown count: %v", s)
	}
}

// The networks of training/ put out points.json's points.
func TestICTIsWhatTheTrainingHas(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(testutil.RepoRoot(), "training", "points.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Name   string
		Points []struct {
			Name   string
			Mirror int
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if file.Name != ICT.Name || len(file.Points) != ICT.Count {
		t.Fatalf("%s with %d points, here %s with %d", file.Name, len(file.Points), ICT.Name, ICT.Count)
	}
	head := ICT.Head()
	for i, p := range file.Points {
		if p.Name != ictHead[i].name {
			t.Errorf("point %d is %q, here %q", i, p.Name, ictHead[i].name)
		}
		a, b := head[i], head[p.Mirror]
		if math.Abs(a[0]+b[0]) > 0.02 || math.Abs(a[1]-b[1]) > 0.02 || math.Abs(a[2]-b[2]) > 0.02 {
			t.Errorf("%s at %v, its mirror image at %v", p.Name, a, b)
		}
	}
}

func lists(s *Topology) map[string][]int {
	all := map[string][]int{"68": s.MultiPIE[:], "lips outside": s.Lips[0], "lips inside": s.Lips[1]}
	for i, e := range s.Eyes {
		side := []string{"right ", "left "}[i]
		all[side+"lids"], all[side+"limbus"] = e.Lids, e.Limbus
		all[side+"eye"] = []int{e.Outer, e.Inner, e.Upper, e.Lower, e.Iris}
	}
	for _, p := range s.Stable {
		all["stable"] = append(all["stable"], p.Index)
	}
	return all
}

func TestListsHaveEachPointOnce(t *testing.T) {
	for _, s := range all {
		for name, list := range lists(s) {
			sorted := slices.Sorted(slices.Values(list))
			if len(list) < 4 || sorted[0] < 0 || sorted[len(sorted)-1] >= s.Count || len(slices.Compact(sorted)) != len(list) {
				t.Errorf("%s, %s: %v", s.Name, name, list)
			}
		}
		for _, e := range s.Eyes {
			if !slices.Contains(e.Lids, e.Upper) || !slices.Contains(e.Lids, e.Lower) || e.Lids[0] != e.Outer || !slices.Contains(e.Lids, e.Inner) {
				t.Errorf("%s: the lids of %+v do not go through its corners and middles", s.Name, e)
			}
		}
	}
}

// Along a closed line each step is short, and it winds around its middle once.
func TestLinesGoAround(t *testing.T) {
	head := ICT.Head()
	for name, line := range map[string][]int{
		"right lids": ICT.Eyes[0].Lids, "left lids": ICT.Eyes[1].Lids, "lips outside": ICT.Lips[0], "lips inside": ICT.Lips[1],
		"right limbus": ICT.Eyes[0].Limbus, "left limbus": ICT.Eyes[1].Limbus,
	} {
		var mean [3]float64
		for _, i := range line {
			for k := range mean {
				mean[k] += head[i][k] / float64(len(line))
			}
		}
		turned := 0.0
		for n, i := range line {
			a, b := head[i], head[line[(n+1)%len(line)]]
			if step := math.Hypot(math.Hypot(b[0]-a[0], b[1]-a[1]), b[2]-a[2]); step > 1.2 {
				t.Errorf("%s: %.2f cm from point %d to the next", name, step, i)
			}
			turned += math.Remainder(math.Atan2(b[1]-mean[1], b[0]-mean[0])-math.Atan2(a[1]-mean[1], a[0]-mean[0]), 2*math.Pi)
		}
		if math.Abs(math.Abs(turned)-2*math.Pi) > 1e-9 {
			t.Errorf("%s: turns by %.0f°", name, turned*180/math.Pi)
		}
	}
}

// Axes, origin and scale of the mean head are those that the comments say.
func TestMeanHead(t *testing.T) {
	head := ICT.Head()
	bridge := head[ICT.MultiPIE[27]]
	if math.Abs(bridge[0]) > 0.01 || math.Abs(bridge[1]-3) > 0.05 || math.Abs(bridge[2]-5) > 0.05 {
		t.Errorf("the nasal bridge is at %v, not 3 cm above and 5 cm before the origin", bridge)
	}
	middle := func(e Eye) (m [3]float64) {
		for k := range m {
			m[k] = (head[e.Outer][k] + head[e.Inner][k]) / 2
		}
		return m
	}
	right, left := middle(ICT.Eyes[0]), middle(ICT.Eyes[1])
	if d := 10 * (left[0] - right[0]); math.Abs(d-ICT.InterocularMM) > 0.1 {
		t.Errorf("the eyes are %.2f mm apart, InterocularMM says %g", d, ICT.InterocularMM)
	}
	for i, e := range ICT.Eyes {
		if m := []([3]float64){right, left}[i]; math.Abs(head[e.Iris][0]-m[0]) > 0.1 || math.Abs(head[e.Upper][0]-head[e.Lower][0]) > 0.2 {
			t.Errorf("iris %v, lids %v and %v; the eye's middle is %v", head[e.Iris], head[e.Upper], head[e.Lower], m)
		}
	}
	if MediaPipe.Head() != nil {
		t.Error("the public set has a head of its own")
	}
}

// Both sets mean the same places: along the 68 they order and mirror alike.
func TestMultiPIEIsMirrored(t *testing.T) {
	head := ICT.Head()
	twin := func(list []int, from, to int) {
		for i := range to - from {
			a, b := head[list[from+i]], head[list[to-1-i]]
			if math.Abs(a[0]+b[0]) > 0.02 || math.Abs(a[1]-b[1]) > 0.02 {
				t.Errorf("%d at %v is no mirror image of %d at %v", from+i, a, to-1-i, b)
			}
		}
	}
	list := ICT.MultiPIE[:]
	twin(list, 0, 17)
	twin(list, 17, 27)
	twin(list, 31, 36)
	twin(list, 48, 55)
}
