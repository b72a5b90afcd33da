package tracker

import (
	"bytes"
	"context"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"facetrack/internal/config"
	"facetrack/internal/stage"
	"facetrack/internal/stage/stagetest"
	"facetrack/internal/testmodels"
	"facetrack/ipc"
	"facetrack/track"
)

// newRigWithState is a rig whose server keeps state.
func newRigWithState(t *testing.T) *rig {
	t.Helper()
	files, err := testmodels.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{Bus: stagetest.NewBus(t, stagetest.JetStream(t.TempDir())), cfg: config.Default()}
	r.cfg.Rig, r.cfg.Landmarks.Model, r.cfg.Infer.Workers = stagetest.Rig, files.Landmarks, 2
	r.out = stagetest.Hear(r.Bus, ipc.KindTracks, ipc.DecodeTracks)
	return r
}

func (r *rig) bucket(nc *ipc.Conn) *ipc.Bucket {
	r.T.Helper()
	js, err := jetstream.New(nc.Conn)
	if err != nil {
		r.T.Fatal(err)
	}
	b, err := ipc.OpenBucket(context.Background(), js, stagetest.Rig)
	if err != nil {
		r.T.Fatal(err)
	}
	return b
}

// restart ends the stage, if it runs, and starts it with the rig's bucket.
func (r *rig) restart() {
	r.T.Helper()
	if r.stop != nil {
		if err := r.stop(); err != nil {
			r.T.Fatal(err)
		}
	}
	bucket := r.bucket(r.Connect())
	r.env, r.stop = r.Run(stage.Tracker, r.cfg, func(ctx context.Context, env *stage.Env) error {
		env.Bucket = bucket
		return Run(ctx, env)
	})
}

// at are the identities on the left and on the right of a frame 640 px wide; 0 for nobody.
func at(m ipc.Tracks) (left, right int) {
	for _, f := range m.Faces {
		if f.Box[0]+f.Box[2]/2 < 320 {
			left = f.ID
		} else {
			right = f.ID
		}
	}
	return left, right
}

// A tracker that is started again goes on with the same people, camera by camera, and gives no number twice.
func TestIdentitiesOutliveTheTracker(t *testing.T) {
	r := newRigWithState(t)
	r.restart()
	people := []ipc.FaceLandmarks{face(480, 240), face(160, 240)} // without appearance: twins
	for n := range 40 {
		if n == 0 {
			r.send(frame("a", n)) // nobody yet: nothing is remembered before the third frame of somebody
		}
		if n < 20 {
			r.send(frame("b", n), people[0])
		}
		r.send(frame("a", n+1), people...)
	}
	left, right := at(r.send(frame("a", 41), people...))
	if left*right != 2 {
		t.Fatalf("identities %d and %d before the restart, want 1 and 2", left, right)
	}
	bucket := r.bucket(r.NC)
	r.Eventually("both cameras are remembered", func() bool {
		var a, b memory
		return bucket.Identities(t.Context(), "a", &a) == nil && a.TimeNS >= frame("a", 31).CaptureNS &&
			bucket.Identities(t.Context(), "b", &b) == nil
	})
	r.restart()
	// The newest state is of frame 31 or later, far less than the three seconds of memory ago.
	if l, r := at(r.send(frame("a", 60), people...)); l != left || r != right {
		t.Errorf("identities %d and %d after the restart, %d and %d before", l, r, left, right)
	}
	var third ipc.Tracks
	for n := range 3 {
		third = r.send(frame("a", 61+n), append(people, face(320, 80))...)
	}
	if len(third.Faces) != 3 || third.Faces[2].ID != 3 {
		t.Errorf("a newcomer makes %d faces, the last of them %+v; want number 3", len(third.Faces), third.Faces)
	}
	var other ipc.Tracks
	for n := range 3 {
		other = r.send(frame("b", 4000+n), face(100, 100)) // minutes later: twins are not told apart
	}
	if len(other.Faces) != 1 || other.Faces[0].ID != 2 {
		t.Errorf("camera b: %d faces, want one with number 2", len(other.Faces))
	}
}

// A new number is on its way to the bucket before anybody hears of it.
func TestANewNumberIsRememberedFirst(t *testing.T) {
	r := newRigWithState(t)
	r.restart()
	bucket := r.bucket(r.NC)
	for n := range 3 {
		r.send(frame("a", n), face(320, 240))
	}
	var m memory // the server gets it before the tracks, and stores it in its own time
	r.Eventually("the bucket has the state", func() bool { return bucket.Identities(t.Context(), "a", &m) == nil })
	if m.People.LastID != 1 || len(m.People.Identities) != 1 {
		t.Errorf("state %+v", m)
	}
	if f := frame("a", 2); m.TimeNS != f.CaptureNS || m.ClockNS != f.WallNS-f.CaptureNS {
		t.Errorf("state of %d and %d, want that of the third frame", m.TimeNS, m.ClockNS)
	}
}

func TestElapsed(t *testing.T) {
	m := memory{TimeNS: 50e9, ClockNS: 1000e9}
	at := func(capture, media, offset int64) *ipc.Frame {
		return &ipc.Frame{CaptureNS: capture, MediaNS: media, WallNS: capture + offset}
	}
	for name, c := range map[string]struct {
		frame *ipc.Frame
		want  float64
	}{
		"later":              {at(51.5e9, 0, 1000e9), 1.5},
		"the same frame":     {at(50e9, 0, 1000e9), 0},
		"recorded":           {at(90e9, 50.25e9, 1000e9), 0.25},
		"a little drift":     {at(51e9, 0, 1001e9), 1},
		"went back":          {at(49e9, 0, 1000e9), -1},
		"recorded, anew":     {at(90e9, 1e9, 1000e9), -1},
		"another boot":       {at(51e9, 0, 5000e9), -1},
		"clock was set back": {at(51e9, 0, 990e9), -1},
	} {
		if got := m.elapsed(c.frame); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v s, want %v", name, got, c.want)
		}
	}
}

// A bucket that fails costs the memory, not the frames, and is told once.
func TestBucketThatFails(t *testing.T) {
	r := newRigWithState(t)
	nc := r.Connect()
	bucket := r.bucket(nc)
	var log bytes.Buffer
	env := &stage.Env{Bucket: bucket, Log: slog.New(slog.NewTextHandler(&log, nil))}
	js, err := jetstream.New(nc.Conn)
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteKeyValue(t.Context(), "facetrack_"+stagetest.Rig); err != nil {
		t.Fatal(err)
	}
	f := frame("a", 0)
	c := openCamera(t.Context(), env, track.Options{ConfirmHits: 1}, &f)
	if !strings.Contains(log.String(), "numbers may be given again") {
		t.Errorf("the log does not say that nothing is known: %s", &log)
	}
	if err := nc.Close(); err != nil {
		t.Fatal(err)
	}
	for n := range 4 {
		f := frame("a", n)
		if got := c.people.Update(observation(ipc.Landmarks{Frame: f, Faces: []ipc.FaceLandmarks{face(320, 240)}})); len(got.Faces) != 1 {
			t.Errorf("frame %d: %d faces", n, len(got.Faces))
		}
		c.remember(&f, n == 0)
	}
	if n := strings.Count(log.String(), "identities are not stored"); n != 1 {
		t.Errorf("told %d times, want once:\n%s", n, &log)
	}
}
