package track

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"testing"
)

// handOver is a tracker that goes on from another one's state, as it is stored.
func handOver(t *testing.T, from *Tracker, elapsed float64) *Tracker {
	t.Helper()
	data, err := json.Marshal(from.State())
	if err != nil {
		t.Fatal(err)
	}
	var s State
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	return Restore(Options{}, s, elapsed)
}

// whoIsWho plays a scene and returns the identities of every actor, each once.
func whoIsWho(s *scene, tracker *Tracker, from, to float64) map[int][]int {
	who := map[int][]int{}
	for now := from; now < to; now += 1 / s.fps {
		obs, truth := s.observe(now)
		for _, f := range tracker.Update(obs).Faces {
			if a := truth[f.Index]; !slices.Contains(who[a], f.ID) {
				who[a] = append(who[a], f.ID)
			}
		}
	}
	return who
}

// TestRestoredTrackerKnowsEverybody: after a short gap by place and appearance, after a long one and after one of
// unknown length by appearance, wherever people are now.
func TestRestoredTrackerKnowsEverybody(t *testing.T) {
	for _, gap := range []struct {
		seconds float64
		known   bool
	}{{0.04, true}, {1, true}, {2.5, true}, {10, true}, {100, true}, {1, false}, {10, false}} {
		for seed := range uint64(seeds) {
			s := newScene(seed, actor{path: still(300, 300, 150)}, actor{path: still(800, 450, 130)}, actor{path: line(100, 120, 100, 60, 10)})
			s.actors[2].path = func(t float64) (float64, float64, float64) { return 640 + 400*math.Sin(0.3*t), 120, 100 }
			before := New(Options{})
			want := whoIsWho(s, before, 0, 5)
			elapsed := gap.seconds
			if !gap.known {
				elapsed = -1
			}
			after := handOver(t, before, elapsed)
			got := whoIsWho(s, after, 5+gap.seconds, 9+gap.seconds)
			if len(want) != 3 || !maps.EqualFunc(got, want, slices.Equal) || after.State().LastID != 3 {
				t.Errorf("gap %+v, seed %d: identities %v, before %v", gap, seed, got, want)
			}
		}
	}
}

// TestTwinsAreKnownByTheirPlacesOnly: while the places count; then each gets a new number rather than a wrong one.
func TestTwinsAreKnownByTheirPlacesOnly(t *testing.T) {
	twins := func(n int) Observation { return frame(n, faceAt(100, 100, 80, 3), faceAt(900, 400, 80, 3)) }
	before := New(Options{})
	for n := range 20 {
		before.Update(twins(n))
	}
	for _, c := range []struct {
		elapsed float64
		want    []int
	}{{0.033, []int{1, 2}}, {2, []int{1, 2}}, {4, []int{3, 4}}, {-1, []int{3, 4}}, {math.NaN(), []int{3, 4}}} {
		after := handOver(t, before, c.elapsed)
		var r Result
		for n := range 20 {
			r = after.Update(twins(n)) // stamps of another clock
		}
		if !slices.Equal(ids(r), c.want) {
			t.Errorf("%v s later: identities %v, want %v", c.elapsed, ids(r), c.want)
		}
		if r.Faces[0].Raw.Box[0] != 100 {
			t.Errorf("%v s later the twins have changed places", c.elapsed)
		}
	}
}

// TestRestoredTrackerTellsWhoIsGone: on its first frame, as the tracker before would have.
func TestRestoredTrackerTellsWhoIsGone(t *testing.T) {
	before := New(Options{})
	for n := range 5 {
		before.Update(frame(n, faceAt(100, 100, 80, 1), faceAt(900, 400, 80, 2)))
	}
	r := handOver(t, before, 0.033).Update(frame(5, faceAt(100, 100, 80, 1)))
	if !slices.Equal(ids(r), []int{1}) || len(r.Born)+len(r.Recovered) != 0 || !slices.Equal(r.Lost, []int{2}) {
		t.Errorf("identities %v, born %v, recovered %v, lost %v", ids(r), r.Born, r.Recovered, r.Lost)
	}
	if r := handOver(t, before, -1).Update(frame(5)); len(r.Lost) != 0 {
		t.Errorf("lost %v after a time that nobody knows", r.Lost)
	}
}

// TestNumbersGoOn: who is forgotten leaves a number that nobody gets again.
func TestNumbersGoOn(t *testing.T) {
	tracker := Restore(Options{ConfirmHits: 1}, State{LastID: 41}, 1)
	if r := tracker.Update(frame(0, faceAt(100, 100, 80, 1))); !slices.Equal(ids(r), []int{42}) {
		t.Errorf("identities %v, want 42", ids(r))
	}
}

func TestStateHoldsNobodyUnconfirmed(t *testing.T) {
	tracker := New(Options{})
	if s := tracker.State(); s.LastID != 0 || s.Identities == nil || len(s.Identities) != 0 {
		t.Errorf("new tracker: %+v", s)
	}
	tracker.Update(frame(0, faceAt(100, 100, 80, 1)))
	if s := tracker.State(); s.LastID != 0 || len(s.Identities) != 0 {
		t.Errorf("after one sight: %+v", s)
	}
}

func TestImpossibleIdentitiesAreLeftOut(t *testing.T) {
	good := Identity{ID: 7, Box: [4]float64{100, 100, 80, 80}, Appearance: []float64{0, 1}, Sights: 9, Similarity: 0.9}
	change := func(edit func(i *Identity)) Identity {
		i := good
		i.ID = 9
		edit(&i)
		return i
	}
	nan, inf := math.NaN(), math.Inf(1)
	s := State{LastID: -3, BeatSeconds: nan, Identities: []Identity{
		good, good, // the second is one too many
		change(func(i *Identity) { i.ID = 0 }),
		change(func(i *Identity) { i.Box[2] = 0 }),
		change(func(i *Identity) { i.Box[1] = nan }),
		change(func(i *Identity) { i.Speed[1] = inf }),
		change(func(i *Identity) { i.UnseenSeconds = -1 }),
		change(func(i *Identity) { i.UnseenSeconds = inf }),
		change(func(i *Identity) { i.Appearance = []float64{0, 0} }),
		change(func(i *Identity) { i.Appearance = []float64{nan, 1} }),
		change(func(i *Identity) { i.Sights = -1 }),
		change(func(i *Identity) { i.Similarity = nan }),
		change(func(i *Identity) { i.Variance = -1 }),
	}}
	got := Restore(Options{}, s, 0).State()
	if len(got.Identities) != 1 || got.Identities[0].ID != 7 || got.LastID != 7 || got.BeatSeconds != 0 {
		t.Errorf("%+v", got)
	}
	if box := got.Identities[0].Box; math.Abs(box[0]-100)+math.Abs(box[2]-80) > 1e-6 {
		t.Errorf("box %v, want the stored one", box)
	}
}
