package replay

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"facetrack/internal/config"
	"facetrack/internal/stage"
	"facetrack/internal/stage/stagetest"
	"facetrack/internal/stage/tracker"
	"facetrack/internal/store"
	"facetrack/internal/testmodels"
	"facetrack/ipc"
)

// tape is a session in memory: two cameras with a face each, 30 frames/s, on a clock far from this one.
type tape []store.Message

func (p *tape) add(t *testing.T, camera string, kind ipc.Kind, m ipc.Message) {
	t.Helper()
	data, err := m.AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	*p = append(*p, store.Message{Subject: ipc.Subject("lab", camera, kind), Data: data})
}

func (p *tape) read(ctx context.Context, f func(store.Message) error) error {
	for _, m := range *p {
		if err := f(m); err != nil {
			return err
		}
	}
	return ctx.Err()
}

const began = int64(7_000_000_000_000)

func moving(camera string, n int) ipc.Landmarks {
	l := ipc.Landmarks{Topology: "mediapipe-478", Frame: ipc.Frame{
		Camera: camera, Seq: uint64(n), CaptureNS: began + int64(n)*33_333_333, WallNS: 1e18, Ring: "lab/" + camera + "/1", Width: 640, Height: 480, Format: "BGR",
		Stamps: ipc.Stamps{Capture: 1, Detect: 2, Landmarks: 3},
	}}
	f := ipc.FaceLandmarks{Presence: 0.9, Blendshapes: make([]float64, 52), Source: ipc.SourceTracked}
	for _, p := range testmodels.Template() {
		wobble := math.Sin(float64(n)*1.7) * 2
		f.Points = append(f.Points, [3]float32{float32(300 + float64(n) + wobble + 96*p[0]), float32(240 + 96*p[1]), float32(96 * p[2])})
	}
	f.Blendshapes[25] = 0.5 + 0.4*math.Sin(float64(n)/5)
	l.Faces = append(l.Faces, f)
	return l
}

func newTape(t *testing.T, frames int) *tape {
	p := &tape{}
	for n := range frames {
		for _, camera := range []string{"a", "b"} {
			if camera == "a" && n == 5 { // dropped then
				p.add(t, "a", ipc.KindDrops, &ipc.Drop{Camera: "a", Stage: "detect", Reason: "queue-full", Seqs: []uint64{5}})
				continue
			}
			l := moving(camera, n)
			p.add(t, camera, ipc.KindLandmarks, &l)
		}
	}
	p.add(t, "a", ipc.KindEnd, &ipc.End{Camera: "a", LastSeq: uint64(frames) - 1, Reason: ipc.EndOfSource})
	p.add(t, "b", ipc.KindEvents, &ipc.Event{Camera: "b", Stage: "detect", Event: ipc.EventTransport, Value: "shm", TimeNS: began + 5})
	return p
}

// play runs a tracker and feeds it; what it found comes back by camera.
func play(t *testing.T, p *tape, speed Speed, change func(*config.Config)) (found map[string][]ipc.Tracks, accounts map[string]Account) {
	t.Helper()
	b := stagetest.NewBus(t)
	cfg := b.Config()
	change(&cfg)
	_, stop := b.Run(stage.Tracker, cfg, tracker.Run)
	found = map[string][]ipc.Tracks{}
	r, err := New(Options{NC: b.NC.Conn, Rig: stagetest.Rig, Speed: speed, Read: p.read, Log: stagetest.Quiet, Heard: func(m ipc.Message) {
		switch m := m.(type) {
		case *ipc.Tracks:
			found[m.Camera] = append(found[m.Camera], *m)
		case *ipc.Event:
			if m.TimeNS != began+5 {
				t.Errorf("event at %d", m.TimeNS)
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	return found, r.Accounts()
}

func nothing(*config.Config) {}

// However fast, the tracker finds the same, to the last digit, with the instants of the session.
func TestSpeedsFindTheSame(t *testing.T) {
	p := newTape(t, 60)
	want, _ := play(t, p, Max, nothing)
	if len(want["a"]) != 59 || len(want["b"]) != 60 {
		t.Fatalf("%d and %d frames", len(want["a"]), len(want["b"]))
	}
	for _, speed := range []Speed{Realtime, 7.5} {
		got, _ := play(t, p, speed, nothing)
		for camera := range want {
			if !slices.EqualFunc(got[camera], want[camera], func(a, b ipc.Tracks) bool { return text(t, a) == text(t, b) }) {
				t.Errorf("speed %v: camera %s is another than at max", speed, camera)
			}
		}
	}
	for n, tracks := range want["b"] {
		then := moving("b", n)
		if tracks.Frame != then.Frame {
			t.Errorf("frame %d: %+v, want %+v", n, tracks.Frame, then.Frame)
		}
		if n > 2 && (len(tracks.Faces) != 1 || tracks.Faces[0].ID != 1) {
			t.Errorf("frame %d: %d faces", n, len(tracks.Faces))
		}
	}
}

func text(t *testing.T, m ipc.Tracks) string {
	t.Helper()
	data, err := m.AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Other settings find something else: the test above could fail.
func TestOtherSmoothing(t *testing.T) {
	p := newTape(t, 20)
	with, _ := play(t, p, Max, nothing)
	without, _ := play(t, p, Max, func(c *config.Config) { c.Tracker.Smoothing.Enabled = false })
	if a, b := with["b"][19], without["b"][19]; text(t, a) == text(t, b) {
		t.Error("smoothing makes no difference")
	}
	raw, smooth := moving("b", 19), without["b"][19]
	if d := smooth.Faces[0].Points[10][0] - raw.Faces[0].Points[10][0]; math.Abs(float64(d)) > 0.02 {
		t.Errorf("without smoothing a point is %v px away", d)
	}
}

func TestAccountsOfAReplay(t *testing.T) {
	p := newTape(t, 40)
	for range 3 { // unreadable, and one that comes twice
		*p = append(*p, store.Message{Subject: "face.lab.b.landmarks", Data: []byte(`{"camera":"b"`)})
	}
	*p = append(*p, (*p)[0])
	_, got := play(t, p, Max, nothing)
	if a := got["a"]; a.Read != 39 || a.Tracked != 39 || a.DroppedThen != 1 || a.Missing != 0 || len(a.Dropped) != 0 {
		t.Errorf("a: %+v", a)
	}
	if b := got["b"]; b.Read != 40 || b.Tracked != 40 || b.Unreadable != 3 || b.Faces != 38 {
		t.Errorf("b: %+v", b)
	}
}

// Nobody tracks: no more is fed than may be under way, and the end of the context is the end.
func TestNoTracker(t *testing.T) {
	b := stagetest.NewBus(t)
	p := newTape(t, 100)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := New(Options{NC: b.NC.Conn, Rig: stagetest.Rig, Speed: Max, Log: stagetest.Quiet, Read: p.read})
	if err != nil {
		t.Fatal(err)
	}
	heard := stagetest.Hear(b, ipc.KindLandmarks, ipc.DecodeLandmarks)
	done := make(chan error)
	go func() { done <- r.Run(ctx, nil) }()
	for range underWay {
		stagetest.Next(t, heard)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for camera, a := range r.Accounts() {
		if a.Read > underWay+1 || a.Tracked != 0 {
			t.Errorf("%s: %+v", camera, a)
		}
	}
}

// A frame that the tracker cannot read is dropped by it, not waited for.
func TestTrackerDrops(t *testing.T) {
	b := stagetest.NewBus(t)
	drops := ipc.NewDrops(b.NC.Conn, stagetest.Rig, stage.Tracker, stagetest.Quiet)
	defer func() { _ = drops.Close() }()
	landmarks := stagetest.Hear(b, ipc.KindLandmarks, ipc.DecodeLandmarks)
	go func() {
		for l := range landmarks {
			drops.Add(l.Camera, "bad-frame", l.Seq)
		}
	}()
	p := newTape(t, 40)
	r, err := New(Options{NC: b.NC.Conn, Rig: stagetest.Rig, Speed: Max, Log: stagetest.Quiet, Read: p.read})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if a := r.Accounts()["b"]; a.Read != 40 || a.Tracked != 0 || a.Dropped["bad-frame"] != 40 {
		t.Errorf("%+v", a)
	}
}
