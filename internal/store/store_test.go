package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"facetrack/internal/config"
	"facetrack/internal/stage/stagetest"
	"facetrack/ipc"
)

// lab is a rig on a server that keeps state.
type lab struct {
	*stagetest.Bus
	js  jetstream.JetStream
	cfg config.Config
}

func newLab(t testing.TB, change ...func(*server.Options)) *lab {
	t.Helper()
	b := stagetest.NewBus(t, append([]func(*server.Options){stagetest.JetStream(t.TempDir())}, change...)...)
	l := &lab{Bus: b, cfg: config.Default()}
	l.cfg.Rig, l.cfg.Store.Enabled, l.cfg.Store.MaxGB = stagetest.Rig, true, 0.1
	l.cfg.Cameras = []config.Camera{{Name: "a", Source: "x", Pace: "realtime"}, {Name: "b", Source: "y", Pace: "realtime"}}
	var err error
	if l.js, err = jetstream.New(b.NC.Conn); err != nil {
		t.Fatal(err)
	}
	return l
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func (l *lab) begin(at time.Time) *Keeper {
	l.T.Helper()
	k, err := Begin(l.T.Context(), l.js, l.cfg, at)
	if err != nil {
		l.T.Fatal(err)
	}
	return k
}

func frame(camera string, seq uint64) ipc.Frame {
	return ipc.Frame{
		Camera: camera, Seq: seq, CaptureNS: int64(seq+1) * 33_333_333, WallNS: 1, Ring: "lab/a/1", Width: 640, Height: 480, Format: "BGR", //nolint:gosec // small
	}
}

// say publishes landmarks of a camera's frames, and waits until the stream has them.
func (l *lab) say(camera string, from, to uint64) {
	l.T.Helper()
	info, err := l.stream().Info(l.T.Context())
	if err != nil {
		l.T.Fatal(err)
	}
	for seq := from; seq < to; seq++ {
		l.Publish(camera, ipc.KindLandmarks, &ipc.Landmarks{Frame: frame(camera, seq), Topology: "t"})
	}
	l.Eventually("the messages are stored", func() bool {
		now, err := l.stream().Info(l.T.Context())
		return err == nil && now.State.LastSeq == info.State.LastSeq+to-from
	})
}

func (l *lab) stream() jetstream.Stream {
	l.T.Helper()
	s, err := l.js.Stream(l.T.Context(), ipc.ResultsStream(stagetest.Rig))
	if err != nil {
		l.T.Fatal(err)
	}
	return s
}

func (l *lab) results() *Results {
	l.T.Helper()
	r, err := Find(l.T.Context(), l.js, stagetest.Rig)
	if err != nil {
		l.T.Fatal(err)
	}
	return r
}

func (l *lab) sessions() []Kept {
	l.T.Helper()
	all, err := l.results().Sessions(l.T.Context())
	if err != nil {
		l.T.Fatal(err)
	}
	return all
}

// read are the frames of a session, as camera and number.
func (l *lab) read(k Kept) (frames []string) {
	l.T.Helper()
	err := l.results().Read(l.T.Context(), k, []string{"landmarks"}, func(m Message) error {
		f, err := ipc.PeekFrame(m.Data)
		frames = append(frames, fmt.Sprintf("%s%d", f.Camera, f.Seq))
		return err
	})
	if err != nil {
		l.T.Fatal(err)
	}
	return frames
}

// Two runs whose cameras number their frames alike are two sessions, each with its own frames, length and account.
func TestSessionsDoNotMix(t *testing.T) {
	l := newLab(t)
	first := l.begin(noon)
	l.say("a", 0, 3)
	l.say("b", 0, 2)
	account := map[string]Account{"a": {Frames: 3, Tracked: 3, Faces: 5}, "b": {Frames: 2, Tracked: 2}}
	if err := first.End(t.Context(), account, noon.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	second := l.begin(noon) // in the same second
	l.say("a", 0, 4)
	all := l.sessions()
	if len(all) != 2 || all[0].ID != "lab-20261121-120000" || all[1].ID != "lab-20261121-120000-2" || all[1].ID != second.Session().ID {
		t.Fatalf("sessions %+v", all)
	}
	if got := strings.Join(l.read(all[0]), " "); got != "a0 a1 a2 b0 b1" {
		t.Errorf("the first has %s", got)
	}
	if got := strings.Join(l.read(all[1]), " "); got != "a0 a1 a2 a3" {
		t.Errorf("the second has %s", got)
	}
	one := all[0]
	if !one.Over || !one.Whole || one.End.At.Sub(one.Begin) != time.Minute || one.End.Cameras["a"] != account["a"] || one.Bytes == 0 {
		t.Errorf("the first: %+v, end %+v", one, one.End)
	}
	if two := all[1]; two.Over || two.End.Cameras["a"].Frames != 4 || two.End.Orderly {
		t.Errorf("the second, which runs: %+v, end %+v", two, two.End)
	}
	cfg, err := one.Configuration()
	if err != nil || cfg.Rig != "lab" || len(cfg.Cameras) != 2 || cfg.Store.MaxGB != 0.1 {
		t.Errorf("its configuration: %+v, %v", cfg, err)
	}
}

// What a session takes is exact while nothing is discarded.
func TestBytesOfASession(t *testing.T) {
	l := newLab(t)
	first := l.begin(noon)
	l.say("a", 0, 10)
	if err := first.End(t.Context(), nil, noon); err != nil {
		t.Fatal(err)
	}
	before, err := l.stream().Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second := l.begin(noon)
	l.say("a", 0, 30)
	if err := second.End(t.Context(), nil, noon); err != nil {
		t.Fatal(err)
	}
	after, err := l.stream().Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := l.sessions()
	if all[0].Bytes != before.State.Bytes || all[1].Bytes != after.State.Bytes-before.State.Bytes {
		t.Errorf("%d and %d bytes of %d and %d", all[0].Bytes, all[1].Bytes, before.State.Bytes, after.State.Bytes)
	}
}

// A run that was killed gets its end from the stream when the next one begins.
func TestSessionAfterACrash(t *testing.T) {
	l := newLab(t)
	l.begin(noon)
	l.say("a", 0, 7)
	l.say("b", 0, 3)
	l.begin(noon.Add(time.Hour))
	l.say("a", 0, 1)
	one := l.sessions()[0]
	if one.Over || one.End == nil || one.End.Orderly || one.End.Cameras["a"].Frames != 7 || one.End.Cameras["b"].Frames != 3 || one.Bytes == 0 {
		t.Errorf("%+v, end %+v", one, one.End)
	}
	if !one.End.At.After(one.Begin) {
		t.Errorf("it lasted from %s to %s", one.Begin, one.End.At)
	}
	if n := len(l.read(one)); n != 10 {
		t.Errorf("%d frames, want 10", n)
	}
}

// Limits take the beginning of a session, then all of it: it is in no list then, and the next run forgets it.
func TestLimitsTakeTheOldest(t *testing.T) {
	l := newLab(t)
	l.begin(noon).mustEnd(t)
	first := l.begin(noon.Add(time.Minute))
	l.say("a", 0, 100)
	first.mustEnd(t)
	purge := func(to uint64) {
		t.Helper()
		if err := l.stream().Purge(t.Context(), jetstream.WithPurgeSequence(to)); err != nil {
			t.Fatal(err)
		}
	}
	purge(first.Session().First + 41) // and with it the whole of the one before
	all := l.sessions()
	if len(all) != 1 || all[0].Whole || all[0].From != first.Session().First+41 || all[0].Bytes >= all[0].End.Bytes {
		t.Fatalf("%+v", all)
	}
	if frames := l.read(all[0]); len(frames) != 60 || frames[0] != "a40" {
		t.Errorf("%d frames from %s", len(frames), frames[0])
	}
	l.begin(noon.Add(time.Hour))
	keys, err := l.results().bucket.Keys(t.Context())
	if err != nil || len(keys) != 2 {
		t.Errorf("sessions %v, %v: want the one that is left and the new one", keys, err)
	}
}

func (k *Keeper) mustEnd(t *testing.T) {
	t.Helper()
	if err := k.End(t.Context(), nil, noon); err != nil {
		t.Fatal(err)
	}
}

// max_gb is kept by the server itself.
func TestBytesAreLimited(t *testing.T) {
	l := newLab(t)
	l.cfg.Store.MaxGB = 0.001
	k := l.begin(noon)
	face := ipc.FaceLandmarks{Points: make(ipc.Points, 478)}
	for seq := range uint64(500) {
		l.Publish("a", ipc.KindLandmarks, &ipc.Landmarks{Frame: frame("a", seq), Topology: "t", Faces: []ipc.FaceLandmarks{face}})
	}
	l.Eventually("all is stored or discarded", func() bool {
		info, err := l.stream().Info(t.Context())
		return err == nil && info.State.LastSeq == k.Session().First+500
	})
	info, err := l.stream().Info(t.Context())
	if err != nil || info.State.Bytes > 1_000_000 || info.State.FirstSeq <= k.Session().First {
		t.Errorf("%+v, %v", info.State, err)
	}
	one := l.sessions()[0]
	if one.Whole || one.Bytes == 0 || one.Bytes > 1_000_000 {
		t.Errorf("%+v", one)
	}
}

// Changed limits are those of the existing stream, and what was in it stays.
func TestLimitsChange(t *testing.T) {
	l := newLab(t)
	l.begin(noon)
	l.say("a", 0, 5)
	l.cfg.Store.MaxAgeHours, l.cfg.Store.MaxGB, l.cfg.Store.Kinds = 2, 0.05, []string{"landmarks"}
	l.begin(noon)
	info, err := l.stream().Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := info.Config
	if c.MaxAge != 2*time.Hour || c.MaxBytes != 50_000_000 || len(c.Subjects) != 2 || info.State.Msgs != 7 {
		t.Errorf("%+v, %d messages", c, info.State.Msgs)
	}
}

// A limit for which there is no room is refused, and then nothing more is taken up: it would be taken for the session before. On a disk that
// has filled up since, a rig goes on with the stream that it has.
func TestLittleRoom(t *testing.T) {
	dir := t.TempDir()
	with := func(t *testing.T, room int64) *lab {
		l := newLab(t, func(o *server.Options) { o.StoreDir, o.JetStreamMaxStore = dir, room })
		l.cfg.Store.MaxGB = 0.02
		return l
	}
	t.Run("too large a limit", func(t *testing.T) {
		l := with(t, 30_000_000)
		l.begin(noon)
		l.say("a", 0, 5)
		l.cfg.Store.MaxGB = 0.05
		if _, err := Begin(t.Context(), l.js, l.cfg, noon); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "no room for store.max_gb") {
			t.Error(err)
		}
		l.Publish("a", ipc.KindLandmarks, &ipc.Landmarks{Frame: frame("a", 0), Topology: "t"})
		if err := l.NC.Flush(); err != nil {
			t.Fatal(err)
		}
		c := l.stream().CachedInfo()
		if c.Config.MaxBytes != 20_000_000 || c.Config.Subjects[0] != c.Config.Name || len(l.read(l.sessions()[0])) != 5 {
			t.Errorf("%+v", c.Config)
		}
		l.cfg.Store.MaxGB = 0.02
		l.begin(noon)
	})
	t.Run("less room than before", func(t *testing.T) {
		l := with(t, 19_000_000)
		l.begin(noon)
		l.say("a", 0, 2)
		if all := l.sessions(); len(all) != 3 || len(l.read(all[2])) != 2 {
			t.Errorf("%+v", all)
		}
	})
}

// A rig that stores nothing adds nothing to what it stored before.
func TestRest(t *testing.T) {
	l := newLab(t)
	if err := Rest(t.Context(), l.js, stagetest.Rig); err != nil {
		t.Errorf("nothing stored yet: %v", err)
	}
	l.begin(noon)
	l.say("a", 0, 5)
	for range 2 {
		if err := Rest(t.Context(), l.js, stagetest.Rig); err != nil {
			t.Fatal(err)
		}
	}
	l.Publish("a", ipc.KindLandmarks, &ipc.Landmarks{Frame: frame("a", 5), Topology: "t"})
	if err := l.NC.Flush(); err != nil {
		t.Fatal(err)
	}
	if n := len(l.read(l.sessions()[0])); n != 5 {
		t.Errorf("%d frames, want 5", n)
	}
	l.begin(noon)
	l.say("a", 0, 2)
	if n := len(l.read(l.sessions()[1])); n != 2 {
		t.Errorf("%d frames after it was switched on again, want 2", n)
	}
}

// A stream that somebody made anew has other numbers: sessions of the old one are not found in it.
func TestAnotherStream(t *testing.T) {
	l := newLab(t)
	k := l.begin(noon)
	l.say("a", 0, 5)
	if _, err := k.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if err := l.js.DeleteStream(t.Context(), ipc.ResultsStream(stagetest.Rig)); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Check(t.Context()); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("the stream is gone: %v", err)
	}
	if _, err := Find(t.Context(), l.js, stagetest.Rig); !errors.Is(err, ErrNothing) {
		t.Errorf("the stream is gone: %v", err)
	}
	l.begin(noon.Add(time.Minute))
	l.say("a", 0, 50)
	if all := l.sessions(); len(all) != 1 || all[0].Begin != noon.Add(time.Minute) {
		t.Errorf("%+v", all)
	}
	if _, err := k.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "replaced") {
		t.Errorf("another stream: %v", err)
	}
}

// Each reason for which nothing is stored is one sentence.
func TestWhatTheServerRefuses(t *testing.T) {
	small := newLab(t, func(o *server.Options) { o.JetStreamMaxStore = 10 << 20 })
	without := &lab{Bus: stagetest.NewBus(t), cfg: small.cfg}
	var err error
	if without.js, err = jetstream.New(without.NC.Conn); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		lab  *lab
		want string
	}{
		"no room":      {small, "it has no room for store.max_gb"},
		"no JetStream": {without, "has no JetStream"},
	} {
		_, err := Begin(t.Context(), c.lab.js, c.lab.cfg, noon)
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Find(t.Context(), without.js, "lab"); !errors.Is(err, ipc.ErrNoJetStream) {
		t.Errorf("no JetStream: %v", err)
	}
	if _, err := Find(t.Context(), small.js, "lab"); !errors.Is(err, ErrNothing) {
		t.Errorf("nothing there: %v", err)
	}
	if _, err := Find(t.Context(), small.js, "a b"); !errors.Is(err, ipc.ErrToken) {
		t.Errorf("no name: %v", err)
	}
}

func TestUnknownSession(t *testing.T) {
	l := newLab(t)
	k := l.begin(noon)
	if got, err := l.results().Session(t.Context(), Latest); err != nil || got.ID != k.Session().ID {
		t.Errorf("the latest is %q, %v", got.ID, err)
	}
	_, err := l.results().Session(t.Context(), "monday")
	if !errors.Is(err, ErrNoSession) || !strings.Contains(err.Error(), `"monday"; there are lab-20261121-120000`) {
		t.Error(err)
	}
}

// Reading ends with its context, and with the first error of who reads.
func TestReadingEnds(t *testing.T) {
	l := newLab(t)
	l.begin(noon)
	l.say("a", 0, 1000)
	one := l.sessions()[0]
	stop := errors.New("enough")
	n := 0
	if err := l.results().Read(t.Context(), one, one.Kinds, func(Message) error { n++; return stop }); !errors.Is(err, stop) || n != 1 {
		t.Errorf("%d messages, %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := l.results().Read(ctx, one, one.Kinds, func(Message) error { cancel(); return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := l.results().Read(t.Context(), one, []string{"events"}, func(Message) error { return stop }); err != nil {
		t.Errorf("no message of that kind: %v", err)
	}
}

// The marks say in the stream itself what the bucket says, for readers of a copy of the stream.
func TestMarksAreInTheStream(t *testing.T) {
	l := newLab(t)
	k := l.begin(noon)
	l.say("a", 0, 1)
	k.mustEnd(t)
	for seq, subject := range map[uint64]string{
		k.Session().First:    "face.lab.session.lab-20261121-120000.begin",
		k.Session().End.Last: "face.lab.session.lab-20261121-120000.end",
	} {
		m, err := l.stream().GetMsg(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		var s Session
		if err := json.Unmarshal(m.Data, &s); err != nil || m.Subject != subject || s.ID != k.Session().ID {
			t.Errorf("%d: %s, %+v, %v", seq, m.Subject, s, err)
		}
	}
}

// What is stored is not what is live: messages that the server sends again say so.
func TestStoredMessagesShowThatTheyAre(t *testing.T) {
	l := newLab(t)
	l.begin(noon)
	l.say("a", 0, 1)
	heard := make(chan *nats.Msg, 8)
	if _, err := l.NC.ChanSubscribe("elsewhere", heard); err != nil {
		t.Fatal(err)
	}
	c, err := l.stream().CreateConsumer(t.Context(), jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy, FilterSubject: "face.lab.*.landmarks"})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.NC.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+ipc.ResultsStream(stagetest.Rig)+"."+c.CachedInfo().Name, "elsewhere", []byte("1")); err != nil {
		t.Fatal(err)
	}
	m := stagetest.Next(t, heard)
	if !ipc.FromStream(m) {
		t.Errorf("%s with reply %q is taken for news", m.Subject, m.Reply)
	}
}
