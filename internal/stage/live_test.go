package stage_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"facetrack/internal/config"
	"facetrack/internal/stage"
	"facetrack/internal/stage/stagetest"
	"facetrack/ipc"
)

const twoCameras = "rig: lab\ncameras: [{name: a, source: x}, {name: b, source: y}]\n"

// taker is a stage that takes changes over, and somebody who makes them.
type taker struct {
	*stagetest.Bus
	env      *stage.Env
	settings *ipc.Settings
	last     uint64
	applied  chan config.Config
	heard    <-chan ipc.Applied
	refuses  error
	stop     func()
}

func newTaker(t *testing.T, mine func(config.Config) config.Config) *taker {
	t.Helper()
	return newTakerOn(t, stagetest.NewBus(t, stagetest.JetStream(t.TempDir())), mine)
}

func newTakerOn(t *testing.T, b *stagetest.Bus, mine func(config.Config) config.Config) *taker {
	t.Helper()
	k := &taker{Bus: b, applied: make(chan config.Config, 64)}
	js, err := jetstream.New(k.NC.Conn)
	if err != nil {
		t.Fatal(err)
	}
	if k.settings, err = ipc.OpenSettings(t.Context(), js, stagetest.Rig); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Parse("f.yaml", []byte(twoCameras))
	if err != nil {
		t.Fatal(err)
	}
	k.put(twoCameras)
	heard, end, err := ipc.HearApplied(k.Connect().Conn, stagetest.Rig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	k.heard = heard
	k.env = k.Env(stage.Detect, cfg)
	k.env.Live = &stage.Live{Config: cfg, Revision: k.last, Settings: k.settings, Bus: k.NC.Conn, Mine: mine}
	k.stop = k.env.Follow(t.Context(), stage.Follower{Apply: func(_, to config.Config) error {
		if k.refuses == nil {
			k.applied <- to
		}
		return k.refuses
	}})
	t.Cleanup(func() { k.stop() })
	k.says(k.last, "")
	return k
}

func (k *taker) put(text string) {
	k.T.Helper()
	n, err := k.settings.Put(context.Background(), []byte(text), k.last)
	if err != nil {
		k.T.Fatal(err)
	}
	k.last = n
}

// says checks what the process says about a revision; refused is part of the reason.
func (k *taker) says(revision uint64, refused string) {
	k.T.Helper()
	a := stagetest.Next(k.T, k.heard)
	if a.Revision != revision || a.Stage != stage.Detect || (refused == "") != (a.Refused == "") || !strings.Contains(a.Refused, refused) {
		k.T.Errorf("it says %+v, want revision %d, refused %q", a, revision, refused)
	}
}

func (k *taker) inEffect(revision, refused uint64) {
	k.T.Helper()
	if c := k.env.Telemetry.Snapshot().Config; c.Revision != revision || c.Later != refused {
		k.T.Errorf("in effect is %+v, want revision %d, and %d refused", c, revision, refused)
	}
}

func TestChangesAreTakenOverOrRefused(t *testing.T) {
	k := newTaker(t, nil)
	k.put(twoCameras + "detect: {every: 3}\n")
	k.says(2, "")
	if c := stagetest.Next(t, k.applied); c.Detect.Every != 3 {
		t.Errorf("applied %+v", c.Detect)
	}
	k.inEffect(2, 0)
	for text, want := range map[string]string{
		"detect:\n  evrey: 3\n":                                `line 2: unknown key "evrey" (did you mean "every"?)`,
		twoCameras + "detect: {every: 0}\n":                    `detect.every is "0"`,
		twoCameras + "detect: {every: 3}\nlsl: {mesh: true}\n": "lsl.mesh needs a restart of lsl-out",
		"rig: lab\ndetect: {every: 3}\n":                       "no camera would be left",
		"rig: lab\ncameras: [{name: a, source: z}]\n":          "cameras.a.source needs a restart of capture",
		"\x00": "the stored configuration",
	} {
		k.put(text)
		k.says(k.last, want)
		k.inEffect(2, k.last)
	}
	k.put(twoCameras + "detect: {every: 4}\n")
	k.says(k.last, "")
	if c := stagetest.Next(t, k.applied); c.Detect.Every != 4 {
		t.Errorf("after the refused ones: %+v", c.Detect)
	}
	k.inEffect(k.last, 0)

	k.stop()
	k.refuses = errors.New("camera c: not found")
	before := k.last
	k.env.Live.Revision, k.env.Live.Config.Detect.Every = before, 4
	k.stop = k.env.Follow(t.Context(), stage.Follower{Apply: func(config.Config, config.Config) error { return k.refuses }})
	k.says(before, "")
	k.put("rig: lab\ncameras: [{name: a, source: x}, {name: b, source: y}, {name: c, source: z}]\ndetect: {every: 4}\n")
	k.says(k.last, "camera c: not found")
	k.inEffect(before, k.last)
	if len(k.applied) != 0 {
		t.Error("something else was applied")
	}
}

// A process that works on one camera hears of that camera alone.
func TestChangesOfOtherProcessesCameras(t *testing.T) {
	k := newTaker(t, func(c config.Config) config.Config {
		c.Cameras = []config.Camera{c.CameraNamed("a")}
		return c
	})
	k.put("rig: lab\ncameras: [{name: a, source: x}, {name: c, source: z}]\n")
	k.says(2, "")
	if c := stagetest.Next(t, k.applied); len(c.Cameras) != 1 || c.Cameras[0].Name != "a" {
		t.Errorf("applied %+v", c.Cameras)
	}
}

// Of several processes, each takes the cameras that come for it alone; one whose camera another process has refuses the whole.
func TestChangesOfAShare(t *testing.T) {
	theirs := errors.New("another process has camera d")
	share := stage.NewShare(func(camera string) (io.Closer, error) {
		if camera == "d" {
			return nil, theirs
		}
		return io.NopCloser(nil), nil
	})
	if err := share.Take("a", "b"); err != nil {
		t.Fatal(err)
	}
	k := newTaker(t, nil)
	k.stop()
	k.env.Share = share
	k.stop = k.env.Follow(t.Context(), stage.Follower{Apply: func(config.Config, config.Config) error { return nil }})
	k.says(1, "")
	k.put(twoCameras[:len(twoCameras)-2] + ", {name: c, source: z}, {name: d, source: z}]\n")
	k.says(2, "another process has camera d")
	if share.Has("c") || share.Has("d") {
		t.Error("cameras of a configuration that was refused")
	}
	k.put("rig: lab\ncameras: [{name: a, source: x}, {name: c, source: z}]\n")
	k.says(3, "")
	if !share.Has("c") {
		t.Error("a camera that came is not this process's")
	}
	k.Eventually("the one that went is left to others", func() bool { return !share.Has("b") })
}

// What was deleted stays in effect.
func TestDeletedConfigurationStays(t *testing.T) {
	k := newTaker(t, nil)
	js, err := jetstream.New(k.NC.Conn)
	if err != nil {
		t.Fatal(err)
	}
	kv, err := js.KeyValue(t.Context(), ipc.SettingsBucket(stagetest.Rig))
	if err != nil {
		t.Fatal(err)
	}
	if err := kv.Delete(t.Context(), "config"); err != nil {
		t.Fatal(err)
	}
	if _, err := k.settings.Latest(t.Context()); !errors.Is(err, ipc.ErrNoKey) {
		t.Errorf("after the deletion: %v", err)
	}
	k.last = 0
	k.put(twoCameras + "detect: {every: 9}\n")
	k.says(k.last, "")
	if c := stagetest.Next(t, k.applied); c.Detect.Every != 9 {
		t.Errorf("applied %+v", c.Detect)
	}
}

// While the server is away the last configuration stays; what is stored when it is back is taken over.
func TestServerThatGoesAndComesBack(t *testing.T) {
	dir := t.TempDir()
	first, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true, JetStream: true, StoreDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	first.Start()
	if !first.ReadyForConnections(stagetest.Deadline) {
		t.Fatal("the NATS server does not start")
	}
	k := newTakerOn(t, stagetest.On(t, first.ClientURL()), nil)
	port := first.Addr().(*net.TCPAddr).Port
	first.Shutdown()
	first.WaitForShutdown()
	k.Eventually("the connection is gone", func() bool { return !k.NC.IsConnected() })
	k.inEffect(1, 0)
	stagetest.NewBus(t, stagetest.JetStream(dir), func(o *server.Options) { o.Port = port })
	k.Eventually("the connection is back", k.NC.IsConnected)
	k.put(twoCameras + "detect: {every: 6}\n")
	if c := stagetest.Next(t, k.applied); c.Detect.Every != 6 {
		t.Errorf("applied %+v", c.Detect)
	}
	k.Eventually("revision 2 is in effect", func() bool { return k.env.Telemetry.Snapshot().Config.Revision == 2 })
	k.inEffect(2, 0)
}

// A camera that was removed is forgotten after its last frames, unless it is back by then.
func TestRemovedCameraIsForgotten(t *testing.T) {
	k := newTaker(t, nil)
	k.stop()
	forgotten := make(chan string, 2)
	k.stop = k.env.Follow(t.Context(), stage.Follower{
		Apply: func(config.Config, config.Config) error { return nil }, Forget: func(camera string) { forgotten <- camera },
	})
	k.says(1, "")
	for _, name := range []string{"a", "b"} {
		k.env.Telemetry.Frame(name, 1, time.Millisecond, time.Millisecond)
	}
	k.put("rig: lab\ncameras: [{name: c, source: z}]\n")
	k.put("rig: lab\ncameras: [{name: c, source: z}, {name: a, source: x}]\n")
	k.says(2, "")
	k.says(3, "")
	if name := stagetest.Next(t, forgotten); name != "b" {
		t.Errorf("forgotten is %s", name)
	}
	if s := k.env.Telemetry.Snapshot().Cameras; len(s) != 1 || s["a"].Frames != 1 {
		t.Errorf("statistics of %+v", s)
	}
}
