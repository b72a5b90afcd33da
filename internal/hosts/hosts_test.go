package hosts

import (
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"facetrack/internal/clock"
	"facetrack/internal/config"
	"facetrack/internal/stage/stagetest"
	"facetrack/ipc"
)

// far is another host, whose clock is ahead.
type far struct {
	*stagetest.Bus
	rig   string
	ahead atomic.Int64
	epoch atomic.Value
	clock *nats.Subscription
}

func newFar(b *stagetest.Bus, rig string, ahead time.Duration) *far {
	b.T.Helper()
	f := &far{Bus: b, rig: rig}
	f.ahead.Store(int64(ahead))
	f.epoch.Store("boot")
	f.answer()
	return f
}

// answer has the host tell its time.
func (f *far) answer() {
	f.T.Helper()
	var err error
	f.clock, err = f.NC.Subscribe(ipc.ClockSubject(f.rig), func(m *nats.Msg) {
		now := clock.Now() + f.ahead.Load()
		data, _ := json.Marshal(ipc.ClockAnswer{Epoch: f.epoch.Load().(string), HeardNS: now, SentNS: now, LatencyMS: map[string]float64{"slow": 100}})
		_ = m.Respond(data)
	})
	if err == nil {
		err = f.NC.Flush()
	}
	if err != nil {
		f.T.Fatal(err)
	}
}

// send says what a camera of the host sees now, or did a while ago.
func (f *far) send(camera string, seq uint64, ago time.Duration, faces ...ipc.TrackedFace) {
	f.T.Helper()
	t := ipc.Tracks{Frame: ipc.Frame{
		Camera: camera, Seq: seq, CaptureNS: clock.Now() + f.ahead.Load() - int64(ago), WallNS: 1, Ring: f.rig + "/" + camera + "/1",
		Width: 640, Height: 480, Format: "BGR",
	}, Topology: "mediapipe-478", Faces: faces}
	if err := ipc.NewPublisher(f.NC.Conn).Publish(ipc.Subject(f.rig, camera, ipc.KindTracks), &t); err != nil {
		f.T.Fatal(err)
	}
}

func someone(id int, name string) ipc.TrackedFace {
	return ipc.TrackedFace{ID: id, Participant: name, Box: [4]float64{1, 2, 30, 40}}
}

// frame is what the hub's tracker is given.
type frame struct {
	place string
	taken int64
	t     ipc.Tracks
}

// hub follows hosts.
type hub struct {
	*Hosts
	frames chan frame
	said   <-chan ipc.Participants
	log    *buffer
}

type buffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func newHub(b *stagetest.Bus, rigs ...string) *hub {
	b.T.Helper()
	cfg := config.Default()
	cfg.Rig = "hub"
	for _, rig := range rigs {
		cfg.Hosts = append(cfg.Hosts, config.Host{Name: rig})
	}
	h := &hub{frames: make(chan frame, 4096), log: &buffer{}}
	said := make(chan ipc.Participants, 4096)
	nc := b.Connect()
	_, err := nc.Subscribe(ipc.ParticipantsSubject("hub"), func(m *nats.Msg) {
		var p ipc.Participants
		if err := json.Unmarshal(m.Data, &p); err != nil {
			b.T.Errorf("%v: %s", err, m.Data)
		}
		said <- p
	})
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		b.T.Fatal(err)
	}
	h.said = said
	h.Hosts, err = Start(b.T.Context(), Options{
		Bus: b.Connect().Conn, Config: cfg, Log: slog.New(slog.NewTextHandler(h.log, nil)),
		Frame: func(place string, t *ipc.Tracks, taken int64) { h.frames <- frame{place, taken, *t} },
	})
	if err != nil {
		b.T.Fatal(err)
	}
	b.T.Cleanup(func() { _ = h.Close() })
	return h
}

// until waits for a message that is as it should be.
func (h *hub) until(t *testing.T, what string, ok func(p ipc.Participants) bool) ipc.Participants {
	t.Helper()
	end := time.After(stagetest.Deadline)
	for {
		select {
		case p := <-h.said:
			if ok(p) {
				return p
			}
		case <-end:
			t.Fatalf("never said: %s", what)
		}
	}
}

func known(p ipc.Participants) bool { return p.Hosts[0].Up && p.Hosts[0].Clock != nil }

func find(p ipc.Participants, name string) *ipc.PersonSeen {
	for i := range p.Participants {
		if p.Participants[i].Name == name {
			return &p.Participants[i]
		}
	}
	return nil
}

const hour = time.Hour

// Frames of another host are on the hub's clock, in time and place.
func TestFramesComeOntoTheOwnClock(t *testing.T) {
	b := stagetest.NewBus(t)
	left := newFar(b, "left", 3*hour)
	h := newHub(b, "left")
	p := h.until(t, "the clock is known", known)
	c := p.Hosts[0].Clock
	if wrong := c.OffsetNS + int64(3*hour); wrong > c.ErrorNS || wrong < -c.ErrorNS || c.ErrorNS <= 0 {
		t.Errorf("offset %d ± %d, want %d", c.OffsetNS, c.ErrorNS, -3*hour)
	}
	before := clock.Now()
	left.send("cam0", 0, 50*time.Millisecond, someone(1, "child"))
	left.send("slow", 0, 50*time.Millisecond, someone(2, ""))
	after := clock.Now()
	for _, want := range []struct {
		place   string
		latency time.Duration
	}{{"left/cam0", 0}, {"left/slow", 100 * time.Millisecond}} {
		f := stagetest.Next(t, h.frames)
		early, late := before-int64(50*time.Millisecond)-c.ErrorNS, after-int64(50*time.Millisecond)+c.ErrorNS
		if f.place != want.place || f.t.CaptureNS < early || f.t.CaptureNS > late || f.taken != f.t.CaptureNS-int64(want.latency) {
			t.Errorf("%s: captured at %d, taken at %d; want from %d to %d", f.place, f.t.CaptureNS, f.taken, early, late)
		}
	}
	p = h.until(t, "both are seen", func(p ipc.Participants) bool { return len(p.Participants) == 2 })
	child, other := find(p, "child"), find(p, "left/slow:2")
	if child == nil || other == nil || !child.Present || child.Places[0].Rig != "left" || child.Places[0].Camera != "cam0" || child.Places[0].ErrorNS <= 0 {
		t.Errorf("%+v", p.Participants)
	}
	if s := p.Hosts[0]; s.Frames != 2 || s.Late+s.Old+s.Untimed != 0 {
		t.Errorf("%+v", s)
	}
}

// A name that two hosts use is one person, wherever they are seen.
func TestOneNameIsOnePerson(t *testing.T) {
	b := stagetest.NewBus(t)
	left := newFar(b, "left", hour)
	h := newHub(b, "left")
	h.until(t, "the clock is known", known)
	own := ipc.Tracks{Frame: ipc.Frame{Camera: "cam0", CaptureNS: clock.Now()}, Faces: []ipc.TrackedFace{someone(4, "child"), someone(5, "")}}
	h.Own(&own)
	left.send("cam1", 0, 0, someone(1, "child"))
	p := h.until(t, "two places", func(p ipc.Participants) bool { c := find(p, "child"); return c != nil && len(c.Places) == 2 })
	c := find(p, "child")
	if c.Places[0].Rig != "hub" || c.Places[0].ID != 4 || c.Places[0].ErrorNS != 0 || c.Places[1].Rig != "left" || c.Places[1].Camera != "cam1" {
		t.Errorf("%+v", c)
	}
	if find(p, "cam0:5") == nil || len(p.Participants) != 2 {
		t.Errorf("%+v", p.Participants)
	}
	p = h.until(t, "nobody is there", func(p ipc.Participants) bool { c := find(p, "child"); return c != nil && !c.Present })
	if c = find(p, "child"); len(c.Places) != 1 || c.Places[0].Rig != "left" {
		t.Errorf("where they were last: %+v", c)
	}
}

// What comes twice, late, or before the clock is known is counted and used for nothing.
func TestFramesThatAreNotUsed(t *testing.T) {
	b := stagetest.NewBus(t)
	left := newFar(b, "left", -hour)
	if err := left.clock.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
	h := newHub(b, "left")
	p := h.until(t, "left is away", func(p ipc.Participants) bool {
		return !p.Hosts[0].Up && strings.Contains(p.Hosts[0].Reason, "has not joined")
	})
	if p.Hosts[0].Clock != nil {
		t.Errorf("%+v", p.Hosts[0].Clock)
	}
	left.send("cam0", 0, 0, someone(1, "child"))
	h.until(t, "untimed", func(p ipc.Participants) bool { return p.Hosts[0].Untimed == 1 })
	left.answer()
	h.until(t, "the clock is known", known)
	left.send("cam0", 10, 0, someone(1, "child"))
	stagetest.Next(t, h.frames)
	left.send("cam0", 10, 50*time.Millisecond, someone(1, "child")) // again: not after it
	left.send("cam0", 11, 5*time.Second, someone(1, "late"))
	p = h.until(t, "both are counted", func(p ipc.Participants) bool { return p.Hosts[0].Old == 1 && p.Hosts[0].Late == 1 })
	if len(h.frames) != 0 || find(p, "late") != nil {
		t.Errorf("%d frames, %+v", len(h.frames), p.Participants)
	}
	if text := h.log.String(); strings.Count(text, "come too late") != 1 {
		t.Errorf("the log says %s", text)
	}
	left.send("cam0", 0, 0, someone(1, "child")) // a rig that began anew: lower numbers, later
	if f := stagetest.Next(t, h.frames); f.t.Seq != 0 {
		t.Errorf("frame %d", f.t.Seq)
	}
}

// A host that does not answer is away within seconds, says why, and is merged again when it is back, with another clock if it was started anew.
func TestHostGoesAndComes(t *testing.T) {
	b := stagetest.NewBus(t)
	left := newFar(b, "left", hour)
	h := newHub(b, "left")
	h.until(t, "the clock is known", known)
	if err := left.clock.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
	went := time.Now()
	p := h.until(t, "left is away", func(p ipc.Participants) bool { return !p.Hosts[0].Up })
	if since := p.Hosts[0].Since; time.Since(went) > 10*time.Second || since.Before(went.Add(-time.Second)) || p.Hosts[0].Clock == nil {
		t.Errorf("after %s: %+v", time.Since(went), p.Hosts[0])
	}
	left.send("cam0", 1, 0, someone(1, "child"))
	h.until(t, "nothing is used meanwhile", func(p ipc.Participants) bool { return p.Hosts[0].Untimed == 1 })
	left.ahead.Store(int64(-7 * hour))
	left.epoch.Store("another boot")
	left.answer()
	p = h.until(t, "left is back", func(p ipc.Participants) bool { return p.Hosts[0].Up })
	c := p.Hosts[0].Clock
	if wrong := c.OffsetNS - int64(7*hour); p.Hosts[0].Steps != 1 || wrong > c.ErrorNS || wrong < -c.ErrorNS {
		t.Errorf("%d steps, %+v", p.Hosts[0].Steps, c)
	}
	left.send("cam0", 2, 0, someone(1, "child"))
	if f := stagetest.Next(t, h.frames); f.place != "left/cam0" {
		t.Errorf("%+v", f)
	}
	for _, w := range []string{"host is reached", "host is not reached", "the clock of this host is another one than before"} {
		if !strings.Contains(h.log.String(), w) {
			t.Errorf("the log does not say %q: %s", w, h.log)
		}
	}
}

// Without other hosts there is nothing to do, and nothing is said.
func TestNoHosts(t *testing.T) {
	h, err := Start(t.Context(), Options{Config: config.Default()})
	if h != nil || err != nil {
		t.Errorf("%v, %v", h, err)
	}
	h.Own(&ipc.Tracks{})
	if h.State() != nil || h.Close() != nil {
		t.Error("a state of nothing")
	}
}
