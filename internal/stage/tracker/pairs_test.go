package tracker

import (
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"facetrack/internal/config"
	"facetrack/internal/stage"
	"facetrack/internal/stage/stagetest"
	"facetrack/ipc"
	"facetrack/vision"
)

// talk is what a face does at an instant, in seconds: something that does not repeat within a window.
func talk(at float64) float64 {
	return 0.5 + 0.2*math.Sin(2*math.Pi*0.35*at) + 0.15*math.Sin(2*math.Pi*0.83*at+1)
}

// talking is a face whose mouth is open as it was delay seconds ago in [talk].
func talking(cx float64, n int, delay float64) ipc.FaceLandmarks {
	f := face(cx, 240)
	f.Blendshapes[slices.Index(vision.BlendshapeNames[:], "jawOpen")] = talk(float64(n)/30 - delay)
	return f
}

// couple is a rig that compares the mouths of two.
type couple struct {
	*rig
	said <-chan ipc.Synchrony
}

func newCouple(t *testing.T, change func(*config.Config)) *couple {
	t.Helper()
	r := newRig(t)
	r.cfg.Cameras = []config.Camera{config.DefaultCamera(0), config.DefaultCamera(1)}
	r.cfg.Participants = []config.Participant{{Name: "mother", Camera: "cam0", Identity: 1}, {Name: "child", Camera: "cam1", Identity: 1}}
	r.cfg.Synchrony.Channels = []string{"jawOpen"}
	change(&r.cfg)
	said := make(chan ipc.Synchrony, 4096)
	_, err := r.NC.Subscribe(ipc.SynchronySubject(stagetest.Rig, ipc.Any, ipc.Any), func(m *nats.Msg) {
		s, err := ipc.DecodeSynchrony(m.Data)
		if err != nil || m.Subject != ipc.SynchronySubject(stagetest.Rig, s.A, s.B) {
			t.Errorf("%s: %v, %s", m.Subject, err, m.Data)
		}
		said <- s
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.NC.Flush(); err != nil {
		t.Fatal(err)
	}
	r.start()
	return &couple{r, said}
}

// secondsOf is long enough for two windows of 5 s, lags of 2 s and a step.
const secondsOf = 8.5

// live sends what mother and child do in their cameras, the child delay seconds later.
func (c *couple) live(delay float64) (last ipc.Tracks) {
	c.T.Helper()
	for n := range int(secondsOf * 30) {
		c.send(frame("cam0", n), talking(320, n, 0))
		last = c.send(frame("cam1", n), talking(320, n, delay))
	}
	return last
}

// expect waits for a result and checks how far B follows A in it.
func (c *couple) expect(a, b string, lag float64) ipc.Synchrony {
	c.T.Helper()
	s := stagetest.Next(c.T, c.said)
	if s.A != a || s.B != b || s.ToNS-s.FromNS != 5e9 || len(s.Series) != 2 || s.Series[0].Channel != "jawOpen" || s.Series[1].Channel != ipc.SynchronyMean {
		c.T.Fatalf("%+v", s)
	}
	for _, series := range s.Series {
		for name, peak := range map[string]ipc.SynchronyPeak{
			"value": series.Value.Nearest, "highest value": series.Value.Highest, "transient": series.Transient.Nearest,
		} {
			if !(math.Abs(float64(peak.LagS)-lag) < 0.05 && peak.R > 0.95) {
				c.T.Errorf("%s, %s: r %v at %v s, want a lag of %v s", series.Channel, name, peak.R, peak.LagS, lag)
			}
		}
		if series.Value.Valid < 140 {
			c.T.Errorf("%s: %d pairs of samples", series.Channel, series.Value.Valid)
		}
	}
	return s
}

func unchanged(*config.Config) {}

func TestSynchronyOfTwoCameras(t *testing.T) {
	c := newCouple(t, unchanged)
	if last := c.live(0.4); len(last.Faces) != 1 || last.Faces[0].Participant != "child" {
		t.Errorf("the child's faces %+v", last.Faces)
	}
	first := c.expect("mother", "child", 0.4)
	if first.CaptureNS != first.ToNS || first.FromNS < frame("cam0", 0).CaptureNS || first.ToNS > frame("cam0", 7*30).CaptureNS {
		t.Errorf("a window from %d to %d, stamped %d", first.FromNS, first.ToNS, first.CaptureNS)
	}
	if second := c.expect("mother", "child", 0.4); second.FromNS-first.FromNS != 5e8 {
		t.Errorf("windows begin at %d and %d", first.FromNS, second.FromNS)
	}
}

// Who sit side by side are in one picture; numbers name those who have no name.
func TestSynchronyWithinACamera(t *testing.T) {
	c := newCouple(t, func(cfg *config.Config) {
		cfg.Cameras, cfg.Participants = cfg.Cameras[:1], nil
		cfg.Synchrony.Pairs = [][]string{{"cam0:1", "cam0:2"}}
	})
	var first int // of the two in time
	for n := range int(secondsOf * 30) {
		first, _ = at(c.send(frame("cam0", n), talking(160, n, 0), talking(480, n, 0.4)))
	}
	c.expect("cam0:1", "cam0:2", map[int]float64{1: 0.4, 2: -0.4}[first])
}

// Pictures of a slow camera were taken earlier than they came, be that a moment or longer than anybody is waited for.
func TestSynchronyOfASlowCamera(t *testing.T) {
	for name, c := range map[string]struct{ latencyMS, seen, lag float64 }{
		"a little": {150, 0.4, 0.25}, "very": {2000, 2.4, 0.4},
	} {
		t.Run(name, func(t *testing.T) {
			r := newCouple(t, func(cfg *config.Config) { cfg.Cameras[1].LatencyMS = c.latencyMS })
			for n := range int((secondsOf + c.latencyMS/1000) * 30) {
				r.send(frame("cam0", n), talking(320, n, 0))
				r.send(frame("cam1", n), talking(320, n, c.seen))
			}
			r.expect("mother", "child", c.lag)
		})
	}
}

// Recordings are compared in their own time, also when one is read ahead of the other.
func TestSynchronyOfRecordings(t *testing.T) {
	c := newCouple(t, unchanged)
	now := int64(77e9)
	recorded := func(camera string, n int, f ipc.FaceLandmarks) {
		now += 1e6
		m := frame(camera, n)
		m.CaptureNS, m.MediaNS = now, m.CaptureNS
		c.send(m, f)
	}
	for n := range int(secondsOf * 30) {
		recorded("cam0", n, talking(320, n, 0))
	}
	for n := range int(secondsOf * 30) {
		recorded("cam1", n, talking(320, n, 0.4))
	}
	s := c.expect("mother", "child", 0.4)
	if s.FromNS < 5e9 || s.ToNS > 14e9 || s.CaptureNS < 77e9-14e9 || s.CaptureNS > now {
		t.Errorf("a window from %d to %d, stamped %d; now is %d", s.FromNS, s.ToNS, s.CaptureNS, now)
	}
}

// Who is not there is compared with nobody.
func TestSynchronyWithNobody(t *testing.T) {
	c := newCouple(t, unchanged)
	for n := range int(secondsOf * 30) {
		c.send(frame("cam0", n), talking(320, n, 0))
		c.send(frame("cam1", n))
	}
	for _, series := range stagetest.Next(t, c.said).Series {
		for name, l := range map[string]ipc.SynchronyLagged{"value": series.Value, "transient": series.Transient} {
			for _, v := range []ipc.Number{l.R, l.Nearest.R, l.Nearest.LagS, l.Highest.R, l.Highest.LagS} {
				if !math.IsNaN(float64(v)) || l.Valid != 0 {
					t.Errorf("%s, %s: %+v", series.Channel, name, l)
				}
			}
		}
		if !math.IsNaN(float64(series.Sustained.R)) {
			t.Errorf("%s: sustained %+v", series.Channel, series.Sustained)
		}
	}
}

func TestNobodyIsCompared(t *testing.T) {
	c := newCouple(t, func(cfg *config.Config) { cfg.Synchrony.Enabled = false })
	c.live(0.4)
	if err := c.stop(); err != nil {
		t.Error(err)
	}
	if err := c.NC.Flush(); err != nil || len(c.said) != 0 {
		t.Errorf("%d results, %v", len(c.said), err)
	}
}

func TestChannelThatDoesNotExist(t *testing.T) {
	r := newRig(t)
	r.cfg.Synchrony.Channels = []string{"noseOpen"}
	if _, err := newPairs(r.Env("tracker", r.cfg)); err == nil || !strings.Contains(err.Error(), "noseOpen") {
		t.Error(err)
	}
}

// Sides that are farther apart than is waited for give nothing: that is said, once.
func TestSidesThatNeverMeet(t *testing.T) {
	var log strings.Builder
	cfg := config.Default()
	cfg.Cameras = []config.Camera{config.DefaultCamera(0), config.DefaultCamera(1)}
	cfg.Synchrony.Pairs = [][]string{{"cam0:1", "cam1:1"}}
	p, err := newPairs(&stage.Env{Config: cfg, Log: slog.New(slog.NewTextHandler(&log, nil)), Out: ipc.NewPublisher(newRig(t).NC.Conn)})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3 * tooLate {
		p.add(&ipc.Tracks{Frame: ipc.Frame{Camera: "cam0", CaptureNS: 100e9 + int64(n)*33e6}})
		p.add(&ipc.Tracks{Frame: ipc.Frame{Camera: "cam1", CaptureNS: 99e9 + int64(n)*33e6}})
	}
	if got := strings.Count(log.String(), "not compared"); got != 1 || !strings.Contains(log.String(), "cam0:1 cam1:1") {
		t.Errorf("told %d times, want once: %s", got, &log)
	}
}

// overHosts compares the mother, here, with the child, whom another host names.
func overHosts(t *testing.T, change func(*config.Config)) (p *pairs, said <-chan ipc.Synchrony) {
	t.Helper()
	b := stagetest.NewBus(t)
	cfg := b.Config()
	cfg.Cameras = []config.Camera{config.DefaultCamera(0)}
	cfg.Participants = []config.Participant{{Name: "mother", Camera: "cam0", Identity: 1}}
	cfg.Hosts = []config.Host{{Name: "left", Participants: []string{"child"}}}
	cfg.Synchrony.Channels = []string{"jawOpen"}
	change(&cfg)
	heard := make(chan ipc.Synchrony, 64)
	_, err := b.NC.Subscribe(ipc.SynchronySubject(stagetest.Rig, ipc.Any, ipc.Any), func(m *nats.Msg) {
		s, err := ipc.DecodeSynchrony(m.Data)
		if err != nil || m.Subject != ipc.SynchronySubject(stagetest.Rig, s.A, s.B) {
			t.Errorf("%s: %v", m.Subject, err)
		}
		heard <- s
	})
	if err == nil {
		err = b.NC.Flush()
	}
	if err == nil {
		p, err = newPairs(b.Env("tracker", cfg))
	}
	if err != nil {
		t.Fatal(err)
	}
	return p, heard
}

// tracked is a face whose mouth is as that of [talk] was delay seconds ago, and which may have a name.
func tracked(id int, name string, n int, delay float64) ipc.TrackedFace {
	return ipc.TrackedFace{ID: id, Participant: name, Blendshapes: talking(0, n, delay).Blendshapes}
}

func expectLag(t *testing.T, said <-chan ipc.Synchrony, a, b string, lag float64) {
	t.Helper()
	s := stagetest.Next(t, said)
	nearest := s.Series[0].Value.Nearest
	if s.A != a || s.B != b || !(math.Abs(float64(nearest.LagS)-lag) < 0.05 && nearest.R > 0.95) {
		t.Errorf("%s and %s: r %v at %v s, want %v s", s.A, s.B, nearest.R, nearest.LagS, lag)
	}
}

// A name of another host is compared with one of this, whichever camera there sees it: also when the person goes from one to another, and while
// others are seen there.
func TestSynchronyOverHosts(t *testing.T) {
	p, said := overHosts(t, unchanged)
	for n := range int(secondsOf * 30) {
		f := frame("cam0", n)
		p.add(&ipc.Tracks{Frame: f, Faces: []ipc.TrackedFace{tracked(1, "mother", n, 0)}})
		p.addOther("left/cam0", &ipc.Tracks{Frame: f, Faces: []ipc.TrackedFace{tracked(1, "child", n, 0.4)}}, f.CaptureNS)
		p.addOther("left/cam1", &ipc.Tracks{Frame: f, Faces: []ipc.TrackedFace{tracked(1, "", n, 1.1)}}, f.CaptureNS+1)
	}
	expectLag(t, said, "mother", "child", 0.4)
}

// People without names go by host, camera and number.
func TestSynchronyOfANumberOnAnotherHost(t *testing.T) {
	p, said := overHosts(t, func(cfg *config.Config) { cfg.Synchrony.Pairs = [][]string{{"mother", "left/cam0:2"}} })
	for n := range int(secondsOf * 30) {
		f := frame("cam0", n)
		p.add(&ipc.Tracks{Frame: f, Faces: []ipc.TrackedFace{tracked(1, "mother", n, 0)}})
		p.addOther("left/cam0", &ipc.Tracks{Frame: f, Faces: []ipc.TrackedFace{tracked(1, "", n, 0.9), tracked(2, "", n, 0.3)}}, f.CaptureNS)
	}
	expectLag(t, said, "mother", "left/cam0:2", 0.3)
}

// While two cameras of two hosts see the same person the frames of one count, and those of the other disturb nothing.
func TestOnePersonSeenByTwoHosts(t *testing.T) {
	p, said := overHosts(t, func(cfg *config.Config) { cfg.Hosts[0].Participants = []string{"child", "mother"} })
	for n := range int(secondsOf * 30) {
		f := frame("cam0", n)
		p.add(&ipc.Tracks{Frame: f, Faces: []ipc.TrackedFace{tracked(1, "mother", n, 0)}})
		p.addOther("left/cam0", &ipc.Tracks{Frame: f, Faces: []ipc.TrackedFace{tracked(1, "child", n, 0.4), tracked(2, "mother", n, 1.3)}}, f.CaptureNS+3)
	}
	expectLag(t, said, "mother", "child", 0.4)
}
