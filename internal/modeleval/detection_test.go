package modeleval

import (
	"math"
	"testing"

	"facetrack/vision"
)

func face(x, y, side, score float64) vision.Face {
	return vision.Face{Box: vision.Box{x, y, side, side}, Score: score}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%s: %g, want %g", what, got, want)
	}
}

// Two faces, one of which ours finds in 8 of 10 frames; a face that is only there for two frames; doubtful and small ones.
func TestDetection(t *testing.T) {
	var frames []looked
	for i := range 10 {
		x := float64(100 + 5*i) // walks
		f := looked{
			theirs: []vision.Face{face(x, 100, 50, 0.9), face(400, 100, 40, 0.85), face(600, 100, 60, 0.4), face(20, 20, 20, 0.9)},
			ours:   []vision.Face{face(x+2, 100, 50, 0.9), face(600, 102, 60, 0.7), face(20, 20, 20, 0.61)},
		}
		if i < 8 {
			f.ours = append(f.ours, face(400, 100, 44, 0.65))
		}
		if i < 2 {
			f.theirs = append(f.theirs, face(300, 300, 50, 0.9))
		}
		if i == 0 {
			f.ours = append(f.ours, face(800, 300, 50, 0.62), face(900, 300, 30, 0.9), face(700, 300, 50, 0.5))
		}
		frames = append(frames, f)
	}
	d := measureDetection([]clipSeen{{"clip", frames}}, 0.6)
	if len(d.Faces) != 2 || d.Faces[0] != (FoundFace{"clip", 10, 10, 50, 1}) || d.Faces[1] != (FoundFace{"clip", 10, 8, 40, 0.8}) {
		t.Errorf("faces: %+v", d.Faces)
	}
	if d.Wanted != 22 || d.Boxes != 29 || d.FalseAlarms != 1 || d.Small != 10 {
		t.Errorf("wanted %d, boxes %d, false alarms %d, small %d", d.Wanted, d.Boxes, d.FalseAlarms, d.Small)
	}
	near(t, "recall", d.Recall, 18.0/22)
	near(t, "precision", d.Precision, 28.0/29)
	near(t, "false alarms", d.AlarmShare, 1.0/29)
	near(t, "recall of small faces", d.SmallRecall, 1)
	near(t, "mean IoU", d.MeanIoU, (10*48.0/52+8*1600.0/1936)/18)
	for _, s := range d.AtThreshold {
		want := map[float64]float64{0.3: 18.0 / 22, 0.6: 18.0 / 22, 0.7: 10.0 / 22, 0.8: 10.0 / 22}[s.Threshold]
		if want > 0 {
			near(t, "recall at a threshold", s.Recall, want)
		}
		if s.Threshold == 0.5 {
			near(t, "false alarms at 0.5", s.AlarmShare, 2.0/30)
		}
	}
}

func TestFollowing(t *testing.T) {
	var f follower
	at := func(frame int, want []int, boxes ...vision.Box) {
		t.Helper()
		for i, id := range f.next(frame, boxes) {
			if id != want[i] {
				t.Errorf("frame %d, box %d: face %d, want %d", frame, i, id, want[i])
			}
		}
	}
	a, b := vision.Box{0, 0, 40, 40}, vision.Box{20, 0, 40, 40}
	at(0, []int{0, 1}, a, b)
	at(1, []int{1, 0}, vision.Box{18, 0, 40, 40}, vision.Box{3, 0, 40, 40})
	at(11, []int{0}, a) // away for nine frames
	at(22, []int{0}, a) // ten
	at(34, []int{2}, a) // eleven
	at(35, []int{3, 2}, vision.Box{300, 0, 40, 40}, a)
}

func TestAShortClipsFacesCount(t *testing.T) {
	faces, _ := foundFaces([]looked{{theirs: []vision.Face{face(0, 0, 50, 0.9)}}}, 0.6)
	if len(faces) != 1 || faces[0].Frames != 1 || faces[0].Share != 0 {
		t.Errorf("%+v", faces)
	}
}

func TestAveragePrecision(t *testing.T) {
	wanted := func(x float64) sought { return sought{vision.Box{x, 0, 40, 40}, true} }
	faces := []sought{wanted(0), wanted(100), wanted(200), wanted(300), {vision.Box{400, 0, 20, 20}, false}}
	found := []vision.Face{
		face(0, 0, 40, 0.9), face(700, 0, 40, 0.8), face(100, 4, 40, 0.7), // right, wrong, right
		face(400, 2, 20, 0.65), face(1, 0, 40, 0.6), face(201, 0, 40, 0.5), // not counted, a second box for the first face, right
	}
	verdicts := judge(found, faces)
	if len(verdicts) != 5 {
		t.Fatalf("%+v", verdicts)
	}
	a := averagePrecision(verdicts, 4, 0.7)
	near(t, "average precision", a.AP, 0.25*1+0.25*2/3+0.25*3/5)
	near(t, "recall", a.Recall, 0.5)
	near(t, "precision", a.Precision, 2.0/3)
	near(t, "of nothing", averagePrecision(nil, 4, 0.7).AP, 0)
}

func TestWhichFacesOfTheTruthAreWanted(t *testing.T) {
	m := vision.Image{Width: 640, Height: 480}
	for _, c := range []struct {
		name string
		face truthFace
		want bool
	}{
		{"whole", truthFace{Box: vision.Box{100, 100, 40, 40}, Shown: 1}, true},
		{"hidden", truthFace{Box: vision.Box{100, 100, 40, 40}, Shown: 0.29}, false},
		{"half outside", truthFace{Box: vision.Box{-21, 100, 40, 40}, Shown: 0.5}, false},
		{"a little outside", truthFace{Box: vision.Box{-19, 100, 40, 40}, Shown: 0.5}, true},
		{"small", truthFace{Box: vision.Box{100, 100, 30, 18}, Shown: 1}, false},
		{"nobody", truthFace{Box: vision.Box{100, 100, 40, 40}, Shown: 1, Nobody: true}, false},
	} {
		if got := c.face.wanted(m, 24); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	s := truthScene{Faces: []truthFace{{Box: vision.Box{100, 100, 20, 20}, Shown: 1}, {Box: vision.Box{-50, 0, 40, 40}, Shown: 1}, {Nobody: true}}}
	if all := s.sought(m, 24); len(all) != 1 || all[0].wanted {
		t.Errorf("sought: %+v", all)
	}
}
