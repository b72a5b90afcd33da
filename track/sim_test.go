package track

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// actor is a simulated person: where the face is at a time (centre and size in px; size 0 is out of
// the room), how it looks and how it holds its head. The larger face is the nearer one.
type actor struct {
	path func(seconds float64) (x, y, size float64)
	look []float64
	yaw  float64
}

// scene renders actors into observations with the flaws of a real detector.
type scene struct {
	rng       *rand.Rand
	actors    []actor
	fps       float64
	misses    float64                    // part of the detections that fail
	ghosts    float64                    // false positives per frame, at random places
	lookNoise float64                    // length of the noise on a descriptor of unit length
	blind     bool                       // no descriptors at all
	burst     func(seconds float64) bool // the detector finds nobody
}

const simWidth, simHeight = 1280, 720

func newScene(seed uint64, actors ...actor) *scene {
	s := &scene{rng: rand.New(rand.NewPCG(seed, 99)), actors: actors, fps: 30, misses: 0.03, lookNoise: 0.4}
	for i := range s.actors {
		s.actors[i].look = s.newLook()
		s.actors[i].yaw = 0.6*s.rng.Float64() - 0.3
	}
	return s
}

// newLook draws a descriptor; two people's share a part, so that their similarity is about 0.4.
func (s *scene) newLook() []float64 {
	v := make([]float64, 32)
	for i := range v {
		v[i] = 0.8 + s.rng.NormFloat64()
	}
	return unit(v)
}

// observe renders a time and tells which actor each face shows (-1: a ghost).
func (s *scene) observe(seconds float64) (obs Observation, truth []int) {
	obs = Observation{TimeNS: int64(seconds * 1e9), Width: simWidth, Height: simHeight}
	blackout := s.burst != nil && s.burst(seconds)
	boxes := make([][4]float64, len(s.actors))
	for i, a := range s.actors {
		x, y, size := a.path(seconds)
		boxes[i] = [4]float64{x - size/2, y - size/2, size, size}
	}
	for i := range s.actors {
		hidden, by := s.hidden(boxes, i)
		outside := boxes[i][0]+boxes[i][2]/2 < 0 || boxes[i][0]+boxes[i][2]/2 > simWidth
		if boxes[i][2] == 0 || outside || hidden > 0.5 || blackout || s.rng.Float64() < s.misses {
			continue
		}
		look := s.actors[i].look
		if hidden > 0 {
			look = mixed(look, s.actors[by].look, hidden)
		}
		obs.Faces = append(obs.Faces, s.face(boxes[i], look, s.actors[i].yaw+0.3*math.Sin(seconds+float64(i))))
		truth = append(truth, i)
	}
	if s.rng.Float64() < s.ghosts && !blackout {
		size := 50 + 100*s.rng.Float64()
		box := [4]float64{s.rng.Float64() * (simWidth - size), s.rng.Float64() * (simHeight - size), size, size}
		obs.Faces = append(obs.Faces, s.face(box, s.newLook(), s.rng.Float64()-0.5))
		truth = append(truth, -1)
	}
	for i := range obs.Faces {
		j := s.rng.IntN(i + 1)
		obs.Faces[i], obs.Faces[j] = obs.Faces[j], obs.Faces[i]
		truth[i], truth[j] = truth[j], truth[i]
	}
	return obs, truth
}

// hidden is the largest part of an actor's face that one nearer actor covers.
func (s *scene) hidden(boxes [][4]float64, i int) (part float64, by int) {
	for j, b := range boxes {
		if j == i || b[2] < boxes[i][2] || b[2] == 0 || boxes[i][2] == 0 {
			continue
		}
		if p := intersection(boxes[i], b) / (boxes[i][2] * boxes[i][3]); p > part {
			part, by = p, j
		}
	}
	return part, by
}

func mixed(a, b []float64, part float64) []float64 {
	m := make([]float64, len(a))
	for i := range m {
		m[i] = (1-part)*a[i] + part*b[i]
	}
	return unit(m)
}

// face draws a noisy face: a box, a turned ellipse of points, a descriptor.
func (s *scene) face(box [4]float64, look []float64, yaw float64) Face {
	size := box[2]
	jitter := func(part float64) float64 { return part * size * s.rng.NormFloat64() }
	f := Face{Presence: 0.8 + 0.2*s.rng.Float64(), Blendshapes: []float64{s.rng.Float64(), 0.5}}
	dx, dy, grow := jitter(0.02), jitter(0.02), jitter(0.03)
	f.Box = [4]float64{box[0] + dx - grow/2, box[1] + dy - grow/2, box[2] + grow, box[3] + grow}
	for k := range 40 {
		a, ring := 2*math.Pi*float64(k%20)/20, 0.25+0.25*float64(k/20)
		x := ring*math.Cos(a)*math.Cos(yaw) + 0.2*math.Sin(yaw)*(0.5-ring)
		f.Points = append(f.Points, [3]float32{
			float32(box[0] + size/2 + x*size + jitter(0.005)), float32(box[1] + size/2 + ring*math.Sin(a)*size + jitter(0.005)), float32(jitter(0.01)),
		})
	}
	if !s.blind {
		f.Appearance = append([]float64(nil), look...)
		for i := range f.Appearance {
			f.Appearance[i] += s.lookNoise / math.Sqrt(float64(len(look))) * s.rng.NormFloat64()
		}
		f.Appearance = unit(f.Appearance)
	}
	return f
}

// score is what became of the actors' identities.
type score struct {
	ids      []int // each actor's first identity
	switches int   // frames whose identity is not the actor's own
	ghosts   int   // frames on which a false positive was published
	seen     int   // sights of actors after the first ten frames
	shown    int   // how many of them were published
	last     Result
}

// play runs a scene through a tracker and keeps score; it also checks that Born, Lost and Recovered
// tell exactly the changes between successive frames.
func play(t *testing.T, s *scene, tracker *Tracker, from, to float64) score {
	t.Helper()
	result := score{ids: make([]int, len(s.actors))}
	owner, before, ever := map[int]int{}, []int(nil), map[int]bool{}
	for frame := 0; ; frame++ {
		now := from + float64(frame)/s.fps
		if now >= to {
			return result
		}
		obs, truth := s.observe(now)
		r := tracker.Update(obs)
		var present []int
		for _, f := range r.Faces {
			present = append(present, f.ID)
			a := truth[f.Index]
			if a < 0 {
				result.ghosts++
				continue
			}
			if result.ids[a] == 0 {
				result.ids[a] = f.ID
			}
			if o, taken := owner[f.ID]; result.ids[a] != f.ID || taken && o != a {
				result.switches++
			}
			owner[f.ID] = a
		}
		if frame >= 10 {
			for _, a := range truth {
				if a >= 0 {
					result.seen++
				}
			}
			result.shown += len(r.Faces)
		}
		checkChanges(t, r, before, present, ever)
		before, result.last = present, r
	}
}

func checkChanges(t *testing.T, r Result, before, present []int, ever map[int]bool) {
	t.Helper()
	var lost, born, recovered []int
	for _, id := range before {
		if !slices.Contains(present, id) {
			lost = append(lost, id)
		}
	}
	for _, id := range present {
		switch {
		case !ever[id]:
			born = append(born, id)
		case before == nil || !slices.Contains(before, id):
			recovered = append(recovered, id)
		}
		ever[id] = true
	}
	if !slices.Equal(lost, r.Lost) || !slices.Equal(born, r.Born) || !slices.Equal(recovered, r.Recovered) || !slices.IsSorted(present) {
		t.Fatalf("present %v after %v: lost %v born %v recovered %v, want %v %v %v", present, before, r.Lost, r.Born, r.Recovered, lost, born, recovered)
	}
}
