package track

import (
	"math"
	"math/rand/v2"
	"testing"
)

const seeds = 12

// still stands at a place and sways a little.
func still(x, y, size float64) func(float64) (float64, float64, float64) {
	return func(t float64) (float64, float64, float64) {
		return x + 0.1*size*math.Sin(1.3*t), y + 0.05*size*math.Sin(2.1*t+1), size
	}
}

// line walks with constant velocity in px/s.
func line(x, y, size, vx, vy float64) func(float64) (float64, float64, float64) {
	return func(t float64) (float64, float64, float64) { return x + vx*t, y + vy*t, size }
}

// wander is a smooth random walk inside the frame: a sum of slow sines.
func wander(rng *rand.Rand, size float64) func(float64) (float64, float64, float64) {
	var phase, rate [4]float64
	for i := range phase {
		phase[i], rate[i] = 2*math.Pi*rng.Float64(), 0.2+0.8*rng.Float64()
	}
	return func(t float64) (float64, float64, float64) {
		x := 640 + 350*math.Sin(rate[0]*t+phase[0]) + 150*math.Sin(rate[1]*t+phase[1])
		y := 360 + 150*math.Sin(rate[2]*t+phase[2]) + 80*math.Sin(rate[3]*t+phase[3])
		return x, y, size * (1 + 0.1*math.Sin(0.5*t+phase[0]))
	}
}

// everySeed plays fresh scenes and wants no identity switch, no ghost and at least 95 % coverage.
func everySeed(t *testing.T, seconds float64, make func(seed uint64) *scene) {
	t.Helper()
	switches, ghosts, seen, shown, bad := 0, 0, 0, 0, 0
	for seed := range uint64(seeds) {
		s := make(seed)
		r := play(t, s, New(Options{Smoothing: Smoothing{Off: true}}), 0, seconds)
		switches, ghosts, seen, shown = switches+r.switches, ghosts+r.ghosts, seen+r.seen, shown+r.shown
		if r.switches > 0 {
			bad++
			t.Errorf("seed %d: %d frames with a wrong identity, identities %v", seed, r.switches, r.ids)
		}
	}
	coverage := float64(shown) / float64(seen)
	t.Logf("%d seeds: %d with a wrong identity (%d frames), %d ghost frames, %.2f %% of sights published", seeds, bad, switches, ghosts, 100*coverage)
	if ghosts > 0 || coverage < 0.95 {
		t.Errorf("%d ghost frames, want none; %.2f %% of the sights published, want ≥ 95 %%", ghosts, 100*coverage)
	}
}

func TestOnePersonIsThereFromTheThirdFrame(t *testing.T) {
	s := newScene(1, actor{path: still(640, 360, 150)})
	s.misses = 0
	tracker := New(Options{})
	for frame := range 30 {
		obs, _ := s.observe(float64(frame) / 30)
		r := tracker.Update(obs)
		want := 0
		if frame >= 2 {
			want = 1
		}
		if len(r.Faces) != want || len(r.Tentative) != 1-want {
			t.Fatalf("frame %d: %d faces and %d tentative, want %d and %d", frame, len(r.Faces), len(r.Tentative), want, 1-want)
		}
	}
}

// TestCrossing: the nearer person hides the farther one for 0.5 to 1 s.
func TestCrossing(t *testing.T) {
	everySeed(t, 6, func(seed uint64) *scene {
		speed := 180 + 4*float64(seed%10)
		return newScene(seed,
			actor{path: line(640-3*speed, 350, 170, speed, 0)}, actor{path: line(640+3*speed*0.5, 365, 140, -speed*0.5, 0)})
	})
}

// TestHiddenByAPasserBy: someone who stands still is hidden for about a second.
func TestHiddenByAPasserBy(t *testing.T) {
	everySeed(t, 8, func(seed uint64) *scene {
		return newScene(seed, actor{path: still(640, 350, 120)}, actor{path: line(640-4*170, 360, 180, 170, 0)})
	})
}

// TestMeetAndTurnBack: two people meet behind one another's face and return to where they came from;
// position says they passed, only appearance knows.
func TestMeetAndTurnBack(t *testing.T) {
	everySeed(t, 8, func(seed uint64) *scene {
		bounce := func(side, size float64) func(float64) (float64, float64, float64) {
			return func(t float64) (float64, float64, float64) {
				return 640 + side*180*math.Abs(t-4) - side*40, 360, size
			}
		}
		return newScene(seed, actor{path: bounce(-1, 150)}, actor{path: bounce(1, 130)})
	})
}

func TestLeavesAndReturnsElsewhere(t *testing.T) {
	for _, absence := range []float64{1.5, 2.5, 10, 60} {
		everySeed(t, 6+absence, func(seed uint64) *scene {
			away := func(t float64) (float64, float64, float64) {
				switch {
				case t < 3:
					return 300 - 150*t, 300, 130
				case t < 3+absence:
					return 0, 0, 0
				}
				return 1100 - 50*(t-3-absence), 420, 110
			}
			s := newScene(seed, actor{path: away}, actor{path: still(700, 350, 150)})
			if absence > 20 {
				s.fps = 10
			}
			return s
		})
	}
}

// TestStrangerGetsANewNumber: someone leaves, and somebody else comes in at the same door.
func TestStrangerGetsANewNumber(t *testing.T) {
	for _, absence := range []float64{0.4, 2, 10} {
		everySeed(t, 6+absence, func(seed uint64) *scene {
			leaves := func(t float64) (float64, float64, float64) {
				if t < 3 {
					return 300, 300, 130
				}
				return 0, 0, 0
			}
			comes := func(t float64) (float64, float64, float64) {
				if t < 3+absence {
					return 0, 0, 0
				}
				return 310, 305, 128
			}
			return newScene(seed, actor{path: leaves}, actor{path: comes})
		})
	}
}

// TestParallelAtLowRate: neighbours walk so fast that each is, on the next frame, where the other was.
func TestParallelAtLowRate(t *testing.T) {
	everySeed(t, 5, func(seed uint64) *scene {
		s := newScene(seed, actor{path: line(100, 360, 100, 200, 0)}, actor{path: line(225, 360, 100, 200, 0)}, actor{path: line(350, 360, 100, 200, 0)})
		s.fps, s.misses = 5, 0.05
		return s
	})
}

func TestDetectorMisses(t *testing.T) {
	everySeed(t, 10, func(seed uint64) *scene {
		s := newScene(seed, actor{path: still(400, 360, 120)}, actor{path: still(560, 360, 120)}, actor{path: line(100, 150, 90, 100, 10)})
		s.misses = 0.25
		s.burst = func(t float64) bool { return math.Mod(t, 2.5) > 2.1 }
		return s
	})
}

func TestGhostsAreNotPublished(t *testing.T) {
	everySeed(t, 10, func(seed uint64) *scene {
		s := newScene(seed, actor{path: still(400, 360, 120)}, actor{path: line(1100, 200, 90, -80, 20)})
		s.ghosts = 0.1
		return s
	})
}

func TestFiveWanderers(t *testing.T) {
	everySeed(t, 20, func(seed uint64) *scene {
		rng := rand.New(rand.NewPCG(seed, 5))
		var actors []actor
		for i := range 5 {
			actors = append(actors, actor{path: wander(rng, 80+12*float64(i))})
		}
		s := newScene(seed, actors...)
		s.misses, s.ghosts, s.fps = 0.05, 0.01, 25
		return s
	})
}

// TestSlowFrames: at two frames a second people are found, and kept across the crossing.
func TestSlowFrames(t *testing.T) {
	everySeed(t, 30, func(seed uint64) *scene {
		s := newScene(seed, actor{path: line(100, 350, 170, 40, 0)}, actor{path: line(1180, 365, 140, -40, 0)}, actor{path: still(640, 120, 100)})
		s.fps = 2
		return s
	})
}

// TestWithoutAppearance: positions alone carry through misses and a crossing that keeps its course.
func TestWithoutAppearance(t *testing.T) {
	everySeed(t, 6, func(seed uint64) *scene {
		s := newScene(seed,
			actor{path: line(100, 350, 170, 180, 0)}, actor{path: line(1180, 365, 140, -180, 0)}, actor{path: still(640, 120, 100)})
		s.blind = true
		return s
	})
}
