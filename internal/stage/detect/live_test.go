package detect

import (
	"testing"

	"facetrack/internal/config"
	"facetrack/internal/stage"
	"facetrack/internal/stage/links"
	"facetrack/internal/stage/queue"
	"facetrack/ipc"
)

// changeable is a detector stage made by hand, and one of its lookers.
func changeable(t *testing.T, r *rig, open func(*detector) ([]looker, error)) (*detector, looker) {
	t.Helper()
	env := r.Env(stage.Detect, r.cfg)
	d := &detector{env: env, links: links.New(env), schedule: newSchedule(5, nil), batches: queue.NewBatches[ipc.Frame](queue.BatchOptions{})}
	t.Cleanup(func() { _ = d.links.Close() })
	all, err := open(d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, l := range all {
			_ = l.Close()
		}
	})
	return d, all[0]
}

// checkThresholds changes the thresholds between frames, and sees what comes of it.
func checkThresholds(t *testing.T, r *rig, d *detector, l looker) {
	t.Helper()
	now := r.cfg
	for _, c := range []struct {
		change func(*config.Config)
		want   int
	}{
		{func(*config.Config) {}, 2},
		{func(c *config.Config) { c.Detect.ScoreThreshold = 1 }, 0},
		{func(c *config.Config) { c.Detect.ScoreThreshold = 0.6 }, 2},
		{func(c *config.Config) { c.Detect.MaxFaces = 1 }, 1},
	} {
		next := now
		c.change(&next)
		if err := d.apply(now, next); err != nil {
			t.Fatal(err)
		}
		now = next
		s := l.look(t.Context(), []ipc.Frame{r.Frame()})[0]
		if s.err != nil || len(s.faces) != c.want {
			t.Errorf("%+v: %d faces, want %d (%q, %v)", now.Detect, len(s.faces), c.want, s.reason, s.err)
		}
	}
}

func TestThresholdsChangeBetweenFrames(t *testing.T) {
	r := newRig(t, "synthetic:faces=2,seed=4", 8)
	d, l := changeable(t, r, (*detector).openHost)
	checkThresholds(t, r, d, l)
}

func TestPeriodChangesBetweenFrames(t *testing.T) {
	a, b := config.Camera{Name: "a"}, config.Camera{Name: "b"}
	s := newSchedule(100, []config.Camera{a, b})
	looked := func(camera string, from, to uint64) (n int) {
		for seq := from; seq < to; seq++ {
			if s.due(camera, seq) {
				n++
			}
		}
		return n
	}
	if n := looked("a", 0, 10); n != 1 {
		t.Errorf("every 100th: %d of 10 frames", n)
	}
	s.set(2, []config.Camera{a, b})
	if n := looked("a", 10, 20); n < 5 || n > 6 {
		t.Errorf("every 2nd: %d of 10 frames", n)
	}
	s.set(5, []config.Camera{a})
	if n := looked("a", 20, 40); n < 4 || n > 5 {
		t.Errorf("every 5th: %d of 20 frames", n)
	}
	s.forget("a")
	if !s.due("a", 40) {
		t.Error("a camera that was forgotten and is back is not looked at")
	}
}
