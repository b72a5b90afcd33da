package landmarks

import (
	"math"
	"testing"

	"facetrack/internal/testmodels"
	"facetrack/ipc"
	"facetrack/vision"
)

const (
	diameter = 100.0
	t0       = int64(7_000_000_000)
	second   = int64(1_000_000_000)
)

// mesh is a level face with 478 points whose box is diameter × diameter around (cx, cy).
func mesh(cx, cy float64) [][3]float64 {
	var out [][3]float64
	for _, p := range testmodels.Template() {
		out = append(out, [3]float64{cx + p[0]*diameter, cy + p[1]*diameter, p[2] * diameter})
	}
	return out
}

func result(cx, cy, presence float64) vision.FaceResult {
	return vision.FaceResult{
		ROI: vision.ROI{CX: cx, CY: cy, Size: 150}, Presence: presence, Points: mesh(cx, cy), Blendshapes: []float64{0.25},
	}
}

// seen is what a detector says about the same face: its box is a little tighter.
func seen(cx, cy float64) ipc.Detection {
	return ipc.Detection{
		Box: [4]float64{cx - 40, cy - 45, 80, 90}, Score: 0.9,
		KeyPoints: [][2]float64{{cx - 18, cy - 12}, {cx + 18, cy - 12}, {cx, cy + 4}},
	}
}

func at(ns int64, ran bool, faces ...ipc.Detection) ipc.Detections {
	return ipc.Detections{Frame: ipc.Frame{CaptureNS: ns}, Ran: ran, Faces: faces}
}

// following returns regions that hold a face at each place.
func following(limit int, vouched bool, places ...[2]float64) *regions {
	r := &regions{limit: limit}
	var from []candidate
	var results []vision.FaceResult
	for _, p := range places {
		from = append(from, candidate{source: sourceDetection, vouched: vouched})
		results = append(results, result(p[0], p[1], 0.9))
	}
	r.keep(t0, from, found{results: results}, 0.5)
	return r
}

func expectROI(t *testing.T, c candidate, source string, cx, cy, size float64) {
	t.Helper()
	if c.source != source || math.Abs(c.roi.CX-cx) > 1e-9 || math.Abs(c.roi.CY-cy) > 1e-9 ||
		math.Abs(c.roi.Size-size) > 1e-9 || math.Abs(c.roi.Rotation) > 1e-9 {
		t.Errorf("candidate %+v, want a level square of %v px at %v, %v from %q", c, size, cx, cy, source)
	}
}

func TestKnownFacesNeedNoDetection(t *testing.T) {
	r := following(8, true, [2]float64{200, 150}, [2]float64{400, 300})
	got := r.candidates(at(t0+33e6, false))
	if len(got) != 2 {
		t.Fatalf("%d candidates, want the two known faces", len(got))
	}
	expectROI(t, got[0], sourceTracked, 200, 150, 1.5*diameter)
	expectROI(t, got[1], sourceTracked, 400, 300, 1.5*diameter)
	if got := (&regions{limit: 8}).candidates(at(t0, false)); len(got) != 0 {
		t.Errorf("nobody is known and %d candidates came", len(got))
	}
}

func TestCoveredDetectionsAreNoNewFaces(t *testing.T) {
	r := following(8, true, [2]float64{200, 150})
	got := r.candidates(at(t0+33e6, true, seen(205, 148), seen(450, 300)))
	if len(got) != 2 {
		t.Fatalf("%d candidates, want the known face and the new one", len(got))
	}
	expectROI(t, got[0], sourceTracked, 200, 150, 1.5*diameter)
	expectROI(t, got[1], sourceDetection, 450, 300, 1.5*90)
}

func TestImpossibleDetectionsAreLeftOut(t *testing.T) {
	empty := seen(100, 100)
	empty.Box = [4]float64{100, 100, 0, 0}
	if got := (&regions{limit: 8}).candidates(at(t0, true, empty, seen(300, 200))); len(got) != 1 || got[0].roi.CX != 300 {
		t.Errorf("candidates %+v, want the one with an extent", got)
	}
}

func TestFacesAreForgottenAfterAGap(t *testing.T) {
	for _, c := range []struct {
		gap  int64
		want int
	}{{second / 2, 1}, {second/2 + 1, 0}} {
		r := following(8, true, [2]float64{200, 150})
		if got := r.candidates(at(t0+c.gap, false)); len(got) != c.want {
			t.Errorf("%d candidates %d ns after the last frame, want %d", len(got), c.gap, c.want)
		}
	}
	r := following(8, true, [2]float64{200, 150})
	got := r.candidates(at(t0+second, true, seen(200, 150)))
	if len(got) != 1 || got[0].source != sourceDetection {
		t.Errorf("candidates %+v after a gap, want the detection", got)
	}
}

func TestLimitKeepsKnownFaces(t *testing.T) {
	r := following(2, true, [2]float64{200, 150})
	got := r.candidates(at(t0+33e6, true, seen(500, 100), seen(500, 300), seen(100, 400)))
	if len(got) != 2 {
		t.Fatalf("%d candidates with a limit of 2", len(got))
	}
	expectROI(t, got[0], sourceTracked, 200, 150, 1.5*diameter)
	expectROI(t, got[1], sourceDetection, 500, 100, 1.5*90)
}

// A face that the landmark network doubts stays as long as the detector saw it when it last looked.
func TestVouchingLowersThePresenceNeeded(t *testing.T) {
	here, there := [2]float64{200, 150}, [2]float64{450, 300}
	for _, c := range []struct {
		what          string
		before        bool // vouched for before this frame
		d             ipc.Detections
		presence      float64
		here, another bool // kept
	}{
		{"the detector sees both", false, at(t0+1, true, seen(200, 150), seen(450, 300)), 0.01, true, true},
		{"the detector sees one", true, at(t0+1, true, seen(200, 150)), 0.01, true, false},
		{"the detector sees nobody", true, at(t0+1, true), 0.01, false, false},
		{"the detector did not look", true, at(t0+1, false), 0.01, true, true},
		{"the detector never saw them", false, at(t0+1, false), 0.01, false, false},
		{"below what vouching allows", true, at(t0+1, true, seen(200, 150), seen(450, 300)), vouchedPresence / 2, false, false},
		{"no doubt, no need of a voucher", false, at(t0+1, true), 0.6, true, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			r := following(8, c.before, here, there)
			from := r.candidates(c.d)
			if len(from) != 2 {
				t.Fatalf("%d candidates", len(from))
			}
			faces := r.keep(c.d.CaptureNS, from, found{results: []vision.FaceResult{result(200, 150, c.presence), result(450, 300, c.presence)}}, 0.5)
			var gotHere, gotThere bool
			for _, f := range faces {
				gotHere, gotThere = gotHere || f.ROI.CX == 200, gotThere || f.ROI.CX == 450
			}
			if gotHere != c.here || gotThere != c.another {
				t.Errorf("kept %v and %v, want %v and %v", gotHere, gotThere, c.here, c.another)
			}
			if next := r.candidates(at(c.d.CaptureNS+1, false)); len(next) != len(faces) {
				t.Errorf("%d faces are followed, %d were published", len(next), len(faces))
			}
		})
	}
}

func TestNewFacesAreVouchedFor(t *testing.T) {
	r := &regions{limit: 8}
	from := r.candidates(at(t0, true, seen(200, 150)))
	if faces := r.keep(t0, from, found{results: []vision.FaceResult{result(200, 150, 0.01)}}, 0.5); len(faces) != 1 || faces[0].Source != sourceDetection {
		t.Fatalf("faces %+v, want the detector's", faces)
	}
	from = r.candidates(at(t0+1, false)) // the voucher lasts over frames without detection
	if faces := r.keep(t0+1, from, found{results: []vision.FaceResult{result(201, 150, 0.01)}}, 0.5); len(faces) != 1 || faces[0].Source != sourceTracked {
		t.Errorf("faces %+v, want the same face, tracked", faces)
	}
}

// Two regions that found the same face are one face: the surer one, with its own region and source.
func TestKeepPublishesAFaceOnce(t *testing.T) {
	r := &regions{limit: 8}
	from := []candidate{{source: sourceTracked}, {source: sourceDetection, vouched: true}, {source: sourceDetection, vouched: true}}
	faces := r.keep(t0, from, found{results: []vision.FaceResult{result(200, 150, 0.7), result(203, 151, 0.9), result(450, 300, 0.8)}}, 0.5)
	if len(faces) != 2 {
		t.Fatalf("%d faces, want 2", len(faces))
	}
	f := faces[0]
	want := ipc.ROI{CX: 203, CY: 151, Size: 150}
	if f.ROI != want || f.Presence != 0.9 || f.Source != sourceDetection || len(f.Points) != 478 || f.Blendshapes[0] != 0.25 {
		t.Errorf("face: roi %+v, presence %v, source %q, %d points", f.ROI, f.Presence, f.Source, len(f.Points))
	}
	if p := f.Points[10]; p != [3]float32{203, 101, f.Points[10][2]} { // the template's top, half a diameter up
		t.Errorf("point 10 at %v, want 203, 101", p)
	}
	if next := r.candidates(at(t0+1, false)); len(next) != 2 {
		t.Errorf("%d faces are followed", len(next))
	}
}

func TestKeepOfNobodyIsAnEmptyList(t *testing.T) {
	r := following(8, true, [2]float64{200, 150})
	if faces := r.keep(t0+1, nil, found{}, 0.5); faces == nil || len(faces) != 0 {
		t.Errorf("faces %v, want an empty list", faces)
	}
	if next := r.candidates(at(t0+2, false)); len(next) != 0 {
		t.Error("a face that was not found is followed")
	}
}

func TestRestoreTakesOverTheTrackersFaces(t *testing.T) {
	last := &ipc.Tracks{Frame: ipc.Frame{CaptureNS: t0}, Faces: []ipc.TrackedFace{
		{ID: 3, Points: points32(mesh(200, 150))},
		{ID: 4, Points: make(ipc.Points, 478)}, // collapsed: nothing to follow
		{ID: 5, Points: points32(mesh(200, 150))[:5]},
	}}
	r := &regions{limit: 8}
	r.restore(last, t0+second/2)
	got := r.candidates(at(t0+second/2, false))
	if len(got) != 1 {
		t.Fatalf("%d candidates, want 1", len(got))
	}
	if c := got[0]; c.source != sourceTracked || !c.vouched || math.Abs(c.roi.CX-200) > 1e-3 || math.Abs(c.roi.Size-150) > 1e-3 {
		t.Errorf("candidate %+v", c)
	}
	for what, restore := range map[string]func(*regions){
		"nothing": func(r *regions) { r.restore(nil, t0) },
		"too old": func(r *regions) { r.restore(last, t0+second/2+1) },
	} {
		r := &regions{limit: 8}
		restore(r)
		if got := r.candidates(at(t0+1, false)); len(got) != 0 {
			t.Errorf("%s: %d candidates", what, len(got))
		}
	}
}

func TestFeedbackKeepsTheLastTracksOfEachCamera(t *testing.T) {
	f := newFeedback()
	if f.take("a") != nil {
		t.Error("tracks before any came")
	}
	message := func(camera string, seq uint64) []byte {
		m := ipc.Tracks{
			Frame: ipc.Frame{Camera: camera, Seq: seq, Ring: "lab/a/1", Width: 640, Height: 480, Format: "BGR"},
			Faces: []ipc.TrackedFace{{ID: int(seq)}},
		}
		data, err := m.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	f.keep(message("a", 1))
	f.keep(message("b", 9))
	f.keep(message("a", 2))
	f.keep([]byte("nonsense"))
	if got := f.take("a"); got == nil || got.Seq != 2 || got.Faces[0].ID != 2 {
		t.Errorf("last tracks of a: %+v", got)
	}
	if got := f.take("b"); got == nil || got.Seq != 9 {
		t.Errorf("last tracks of b: %+v", got)
	}
	cut := message("c", 1)
	cut = append(cut[:len(cut)-1:len(cut)-1], []byte(`,"lost":"nobody"}`)...)
	if _, err := ipc.PeekFrame(cut); err != nil {
		t.Fatal(err) // only the identity reads well
	}
	f.keep(cut)
	if got := f.take("c"); got != nil {
		t.Errorf("unreadable tracks gave %+v", got)
	}
}
