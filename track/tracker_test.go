package track

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// faceAt is a face with 8×8 points over its box, and a descriptor along one axis.
func faceAt(x, y, size float64, axis int) Face {
	f := Face{Box: [4]float64{x, y, size, size}, Presence: 0.9, Blendshapes: []float64{0.2}}
	for i := range 64 {
		f.Points = append(f.Points, [3]float32{float32(x + size*float64(i%8)/8), float32(y + size*float64(i/8)/8), 0})
	}
	if axis >= 0 {
		f.Appearance = make([]float64, 8)
		f.Appearance[axis] = 1
	}
	return f
}

func frame(n int, faces ...Face) Observation {
	return Observation{TimeNS: int64(n) * 33_333_333, Width: 1280, Height: 720, Faces: faces}
}

func ids(r Result) (list []int) {
	for _, f := range r.Faces {
		list = append(list, f.ID)
	}
	return list
}

func TestBadFacesAreRejectedWithTheReason(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	change := func(edit func(f *Face)) Face {
		f := faceAt(100, 100, 80, 0)
		edit(&f)
		return f
	}
	cases := []struct {
		face Face
		want Reason
	}{
		{change(func(f *Face) { f.Box[0] = nan }), ReasonBox},
		{change(func(f *Face) { f.Box[2] = 0 }), ReasonBox},
		{change(func(f *Face) { f.Box[3] = -5 }), ReasonBox},
		{change(func(f *Face) { f.Box[1] = 1e300 }), ReasonBox},
		{change(func(f *Face) { f.Box[0] = -80 }), ReasonOutside},
		{change(func(f *Face) { f.Box[1] = 720 }), ReasonOutside},
		{change(func(f *Face) { f.Presence = nan }), ReasonPresence},
		{change(func(f *Face) { f.Presence = 0.1 }), ReasonPresence},
		{change(func(f *Face) { f.Points[3][1] = float32(inf) }), ReasonPoints},
		{change(func(f *Face) { f.Points[63][2] = float32(nan) }), ReasonPoints},
		{change(func(f *Face) { f.Blendshapes[0] = -inf }), ReasonBlendshapes},
		{change(func(f *Face) { f.Appearance[7] = nan }), ReasonAppearance},
		{change(func(f *Face) { f.Appearance[0] = 0 }), ReasonAppearance},
	}
	tracker := New(Options{MinPresence: 0.5})
	for n := range 5 {
		faces := []Face{faceAt(500, 300, 90, 1)}
		var want []Rejection
		for i, c := range cases {
			faces = append(faces, c.face)
			want = append(want, Rejection{i + 1, c.want})
		}
		r := tracker.Update(frame(n, faces...))
		if !slices.Equal(r.Rejected, want) {
			t.Fatalf("rejected %v, want %v", r.Rejected, want)
		}
		if n >= 2 && !slices.Equal(ids(r), []int{1}) {
			t.Fatalf("frame %d: identities %v, want the good face alone", n, ids(r))
		}
	}
}

func TestTheSameFaceTwiceCountsOnce(t *testing.T) {
	tracker := New(Options{})
	weaker, bare := faceAt(104, 103, 80, 0), faceAt(105, 100, 78, 0)
	weaker.Presence = 0.7
	bare.Points, bare.Presence = nil, 0.6
	neighbour := faceAt(145, 100, 80, 1) // overlaps by half, but is somebody else
	var r Result
	for n := range 4 {
		r = tracker.Update(frame(n, weaker, faceAt(100, 100, 80, 0), neighbour, bare))
	}
	want := []Rejection{{0, ReasonDuplicate}, {3, ReasonDuplicate}}
	if !slices.Equal(r.Rejected, want) || len(r.Faces) != 2 || r.Faces[0].Index+r.Faces[1].Index != 1+2 {
		t.Errorf("rejected %v with identities %v, want %v and faces 1 and 2", r.Rejected, ids(r), want)
	}
}

func TestTooManyFacesKeepsTheMostPresent(t *testing.T) {
	tracker := New(Options{MaxFaces: 2, ConfirmHits: 1})
	faces := []Face{faceAt(100, 100, 80, -1), faceAt(300, 100, 80, -1), faceAt(500, 100, 80, -1)}
	faces[0].Presence = 0.5
	r := tracker.Update(frame(0, faces...))
	if len(r.Faces) != 2 || !slices.Equal(r.Rejected, []Rejection{{0, ReasonTooMany}}) {
		t.Errorf("%d faces, rejected %v; want the two most present ones", len(r.Faces), r.Rejected)
	}
}

// TestLookAlikesAreNotConfused: two identical twins leave; whoever returns cannot be told, so it is
// somebody new.
func TestLookAlikesAreNotConfused(t *testing.T) {
	tracker := New(Options{})
	n := 0
	for range 20 {
		tracker.Update(frame(n, faceAt(100, 100, 80, 3), faceAt(900, 400, 80, 3)))
		n++
	}
	var r Result
	for n += 300; n < 325; n++ {
		r = tracker.Update(frame(n, faceAt(500, 300, 80, 3)))
	}
	if !slices.Equal(ids(r), []int{3}) {
		t.Errorf("identities %v, want a new one, 3", ids(r))
	}
}

func TestReIdentificationExpires(t *testing.T) {
	for _, c := range []struct {
		seconds float64
		want    int
	}{{5, 1}, {15, 2}} {
		tracker := New(Options{ReIDSeconds: 10})
		for n := range 20 {
			tracker.Update(frame(n, faceAt(100, 100, 80, 3)))
		}
		first := 20 + int(c.seconds*30)
		var r Result
		for n := first; n < first+5; n++ {
			r = tracker.Update(frame(n, faceAt(900, 400, 80, 3)))
		}
		if !slices.Equal(ids(r), []int{c.want}) {
			t.Errorf("back after %g s: identities %v, want %d", c.seconds, ids(r), c.want)
		}
	}
}

// TestTimeMayStandStillOrGoBack: a source that repeats or rewinds stamps keeps its identities.
func TestTimeMayStandStillOrGoBack(t *testing.T) {
	tracker := New(Options{})
	var r Result
	for _, ns := range []int64{5e9, 5e9, 5e9, 1e9, -1, math.MinInt64, math.MinInt64, 33e6 + math.MinInt64, math.MinInt64, 66e6 + math.MinInt64} {
		r = tracker.Update(Observation{TimeNS: ns, Width: 1280, Height: 720, Faces: []Face{faceAt(100, 100, 80, 2)}})
	}
	if !slices.Equal(ids(r), []int{1}) {
		t.Errorf("identities %v, want 1 throughout", ids(r))
	}
}

// TestMemoryIsBounded floods the tracker with newcomers that never return.
func TestMemoryIsBounded(t *testing.T) {
	tracker := New(Options{ConfirmHits: 1, MaxFaces: 8})
	rng := rand.New(rand.NewPCG(1, 1))
	for n := range 400 {
		var faces []Face
		for range 8 {
			faces = append(faces, faceAt(1200*rng.Float64(), 640*rng.Float64(), 20+60*rng.Float64(), -1))
		}
		tracker.Update(frame(n, faces...))
	}
	if len(tracker.people) > maxRemembered+8 {
		t.Errorf("remembers %d people, want at most %d", len(tracker.people), maxRemembered+8)
	}
}

func TestSmoothingKeepsRawAndCanBeOff(t *testing.T) {
	for _, off := range []bool{false, true} {
		tracker := New(Options{Smoothing: Smoothing{Off: off}})
		var r Result
		var last Face
		for n := range 30 {
			last = faceAt(100+2*math.Pow(-1, float64(n)), 100, 80, 2)
			last.Blendshapes[0] = 0.5 + 0.1*math.Pow(-1, float64(n))
			r = tracker.Update(frame(n, last))
		}
		f := r.Faces[0]
		if f.Raw.Box != last.Box || f.Raw.Points[5] != last.Points[5] || f.Raw.Blendshapes[0] != last.Blendshapes[0] {
			t.Fatalf("raw values are not those observed")
		}
		// The input alternates by ±2 px and ±0.1 about 100 px and 0.5.
		box, point, shape := math.Abs(f.Box[0]-100), math.Abs(float64(f.Points[0][0])-100), math.Abs(f.Blendshapes[0]-0.5)
		if off && (f.Box != last.Box || f.Points[0] != last.Points[0] || f.Blendshapes[0] != last.Blendshapes[0]) {
			t.Error("switched off, smoothing must leave values as they are")
		}
		if !off && (box > 1.5 || point > 1.5 || shape > 0.08) {
			t.Errorf("smoothed deviations %.2f px, %.2f px, %.3f: hardly smoothed", box, point, shape)
		}
		f.Points[0][0], f.Blendshapes[0] = -1, -1
		if last.Points[0][0] == -1 || last.Blendshapes[0] == -1 {
			t.Error("smoothed values must not share memory with the observation")
		}
	}
}

// TestPoseFollowsAHeadThroughTheTracker turns a head by 60° across the ±180° seam of roll.
func TestPoseFollowsAHeadThroughTheTracker(t *testing.T) {
	s := GenericPoseSolver()
	rng := rand.New(rand.NewPCG(2, 2))
	tracker := New(Options{HFOVDegrees: testCamera.HFOVDegrees})
	for n := range 90 {
		roll := 150 + float64(n)*60/90
		f := faceAt(500, 220, 280, 2)
		f.Points = project(t, s, testCamera, RotationFromAngles(0, 20, roll), [3]float64{0, 0, 60}, 0, rng)
		r := tracker.Update(frame(n, f))
		if n < 2 {
			continue
		}
		got := r.Faces[0]
		if !got.HasPose || math.Abs(wrapDegrees(got.RawPose.Roll-roll)) > 0.1 || math.Abs(wrapDegrees(got.Pose.Roll-roll)) > 5 ||
			math.Abs(got.Pose.Yaw-20) > 1 || math.Abs(got.Pose.Z-60) > 1 {
			t.Fatalf("frame %d: roll %.1f, raw %+v, smooth %+v", n, roll, got.RawPose, got.Pose)
		}
	}
}

func BenchmarkTrackerOneFace(b *testing.B)   { benchmarkTracker(b, 1) }
func BenchmarkTrackerFiveFaces(b *testing.B) { benchmarkTracker(b, 5) }

func benchmarkTracker(b *testing.B, people int) {
	s := fullGenericSolver(b)
	rng := rand.New(rand.NewPCG(3, 3))
	var faces []Face
	for i := range people {
		f := faceAt(100+220*float64(i), 200, 150, i)
		f.Points = project(b, s, testCamera, RotationFromAngles(0, 10, 0), [3]float64{-40 + 20*float64(i), 0, 100}, 0.3, rng)
		f.Blendshapes = make([]float64, 52)
		faces = append(faces, f)
	}
	tracker := New(Options{Pose: s})
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		tracker.Update(frame(n, faces...))
	}
}

func ExampleTracker() {
	tracker := New(Options{HFOVDegrees: 70})
	face := Face{Box: [4]float64{600, 300, 120, 120}, Presence: 0.98}
	for frame := range int64(4) {
		result := tracker.Update(Observation{TimeNS: frame * 33e6, Width: 1280, Height: 720, Faces: []Face{face}})
		fmt.Println("tentative", result.Tentative, "born", result.Born, "faces", len(result.Faces))
	}
	fmt.Println("lost", tracker.Update(Observation{TimeNS: 4 * 33e6, Width: 1280, Height: 720}).Lost)
	// Output:
	// tentative [0] born [] faces 0
	// tentative [0] born [] faces 0
	// tentative [] born [1] faces 1
	// tentative [] born [] faces 1
	// lost [1]
}
