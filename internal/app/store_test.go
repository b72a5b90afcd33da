package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"facetrack/internal/config"
	"facetrack/internal/monitor"
	"facetrack/internal/replay"
	"facetrack/internal/store"
	"facetrack/ipc"
)

func TestWrongFlagsOfAReplay(t *testing.T) {
	for want, args := range map[string][]string{
		"--speed=fast: it must be realtime, max, or how many times faster, 0.01 to 1000": {"replay", "--speed", "fast"},
		`--as "a b": not a name of 1 to 32 characters`:                                   {"replay", "--as", "a b"},
		"--record and --xdf name the same file":                                          {"replay", "--record", "a", "--xdf", "a"},
	} {
		code, _, stderr := run(t, args...)
		if code != 2 || !strings.Contains(stderr, want) {
			t.Errorf("%v: status %d, %s", args, code, stderr)
		}
	}
}

func TestWhereNothingIsStored(t *testing.T) {
	t.Setenv("FACETRACK_DATA_DIR", t.TempDir())
	bare, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	bare.Start()
	t.Cleanup(bare.Shutdown)
	if !bare.ReadyForConnections(deadline) {
		t.Fatal("the server does not start")
	}
	empty := startNATS(t)
	for _, command := range []string{"sessions", "replay"} {
		for want, flags := range map[string][]string{
			`no results are stored of rig "lab"`:   {},
			"no NATS server at nats://127.0.0.1:1": {"--nats", "nats://127.0.0.1:1"},
			"has no JetStream":                     {"--nats", bare.ClientURL()},
			"store.enabled (facetrack up --store)": {"--nats", empty.ClientURL()},
			`rig is "a b"`:                         {"--rig", "a b"},
			"none.yaml":                            {"--config", "/none.yaml"},
		} {
			code, stdout, stderr := run(t, append([]string{command}, flags...)...)
			if code != 1 || stdout != "" {
				t.Errorf("%s %v: status %d, stdout %q", command, flags, code, stdout)
			}
			expectLine(t, stderr, want)
		}
	}
}

// withSession is a server on which a session of a rig with two cameras is stored.
func withSession(t *testing.T, cfg config.Config) string {
	t.Helper()
	s := startNATS(t)
	js, err := jetstream.New(connect(t, s).Conn)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Store.Enabled, cfg.Store.MaxGB = true, 0.01
	if _, err := store.Begin(t.Context(), js, cfg, time.Now()); err != nil {
		t.Fatal(err)
	}
	return s.ClientURL()
}

func TestErrorsOfAReplay(t *testing.T) {
	t.Setenv("FACETRACK_DATA_DIR", t.TempDir())
	url := withSession(t, mustConfigure(t, "--config", write(t, "f.yaml", twoCameras)))
	for want, flags := range map[string][]string{
		`no such session: "monday"; there are bench-`:                         {"--session", "monday"},
		"--as=bench: that is the rig of the session":                          {"--as", "bench"},
		"--set=detect.every=3: detect.every has had its effect before":        {"--set", "detect.every=3"},
		"--set=cameras.left.source=x: cameras.left.source has had its effect": {"--set", "cameras.left.source=x"},
		`--set=tracker.memory: it must be KEY=VALUE`:                          {"--set", "tracker.memory"},
		`unknown setting "tracker.memry_s" (did you mean`:                     {"--set", "tracker.memry_s=3"},
		`tracker.memory_s is "-1"; it must be 0 to 3600`:                      {"--set", "tracker.memory_s=-1"},
		`there is no camera named "middle"`:                                   {"--set", "cameras.middle.latency_ms=3"},
		"f.yaml exists and is left alone":                                     {"--record", write(t, "f.yaml", "")},
		"credentials and TLS are required":                                    {"--listen", "192.0.2.1:4222"},
		"has no frames":                                                       {"--no-lsl", "--speed", "max"},
	} {
		code, _, stderr := run(t, append([]string{"replay", "-q", "--nats", url, "--rig", "bench"}, flags...)...)
		if code != 1 {
			t.Errorf("%v: status %d", flags, code)
		}
		expectLine(t, stderr, want)
	}
}

// What a replay has otherwise than its session: what file and flags say of what comes behind the landmarks, flags first.
func TestConfigurationOfAReplay(t *testing.T) {
	then := mustConfigure(t, "--config", write(t, "then.yaml", twoCameras))
	then.Store.Enabled, then.NATS.URL = true, "nats://elsewhere:4222"
	doc, err := config.NewDocument(then, "", "", time.Now()).Text()
	if err != nil {
		t.Fatal(err)
	}
	session := &store.Kept{Session: store.Session{ID: "x", Rig: then.Rig, Config: string(doc)}}
	file := write(t, "f.yaml", `rig: bench
detect: {every: 9}
tracker: {memory_s: 7, smoothing: {pose: {beta: 5}}}
cameras: [{name: left, source: demo, hfov_degrees: 50}, {name: right, source: demo}]
participants: [{name: child, camera: left}, {name: mother, camera: right, interocular_mm: 60}]
`)
	cli, err := parse(t, "replay", "--config", file, "--speed", "max", "--no-lsl", "--set", "tracker.memory_s=8", "--set", "cameras.right.latency_ms=12")
	if err != nil {
		t.Fatal(err)
	}
	here := config.Default()
	here.DataDir = t.TempDir()
	cfg, err := cli.Replay.playedWith(session, here, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Rig != then.Rig+"-replay" || cfg.Store.Enabled || cfg.LSL.Enabled || cfg.NATS.URL != "" || cfg.DataDir != here.DataDir {
		t.Errorf("%+v", cfg)
	}
	if cfg.Tracker.MemorySeconds != 8 || cfg.Tracker.Smoothing.Pose.Beta != 5 || cfg.Tracker.Smoothing.Pose.MinCutoff != then.Tracker.Smoothing.Pose.MinCutoff {
		t.Errorf("tracker %+v", cfg.Tracker)
	}
	if cfg.Detect != then.Detect {
		t.Errorf("detect %+v", cfg.Detect)
	}
	left, right := cfg.CameraNamed("left"), cfg.CameraNamed("right")
	if left.HFOV != 50 || right.LatencyMS != 12 || left.Pace != "max" || left.Source != then.CameraNamed("left").Source {
		t.Errorf("cameras %+v, %+v", left, right)
	}
	if len(cfg.Participants) != 2 || cfg.Participants[1].InterocularMM != 60 || cfg.Participants[0].Name != "child" {
		t.Errorf("participants %+v", cfg.Participants)
	}
	cli.Replay.Config, cli.Replay.Set, cli.Replay.NoLSL, cli.Replay.speed = "", nil, false, replay.Realtime
	same, err := cli.Replay.playedWith(session, here, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if same.Tracker != then.Tracker || !same.LSL.Enabled || same.CameraNamed("left").Pace != "realtime" {
		t.Errorf("without flags: %+v", same)
	}
}

// log is what a logger writes, to be read while it does.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A stream that goes away, or in which nothing comes any more, is told once, while the rig runs on.
func TestStoreThatStops(t *testing.T) {
	for want, harm := range map[string]func(*testing.T, jetstream.JetStream, config.Config){
		"stream not found": func(t *testing.T, js jetstream.JetStream, cfg config.Config) {
			if err := js.DeleteStream(t.Context(), ipc.ResultsStream(cfg.Rig)); err != nil {
				t.Fatal(err)
			}
		},
		"taken its subjects away": func(t *testing.T, js jetstream.JetStream, cfg config.Config) {
			if err := store.Rest(t.Context(), js, cfg.Rig); err != nil {
				t.Fatal(err)
			}
		},
		"frames nothing came in": func(*testing.T, jetstream.JetStream, config.Config) {},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			s := startNATS(t)
			said := &log{}
			cfg := config.Default()
			cfg.Store.Enabled, cfg.Store.MaxGB = true, 0.01
			r := &rig{cfg: cfg, bus: connect(t, s), log: slog.New(slog.NewTextHandler(said, nil))}
			if r.keeper = beginSession(t.Context(), r.bus.Conn, cfg, r.log); r.keeper == nil {
				t.Fatal(said)
			}
			var err error
			if r.monitor, err = monitor.Start(r.bus.Conn, cfg.Rig, nil, quiet); err != nil {
				t.Fatal(err)
			}
			js, err := jetstream.New(r.bus.Conn)
			if err != nil {
				t.Fatal(err)
			}
			harm(t, js, cfg)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			tracked := uint64(0)
			done := make(chan struct{})
			go func() {
				r.watchStore(ctx)
				close(done)
			}()
			eventually(t, "it is told", func() bool { // frames that the stream knows nothing of
				r.monitor.Ledger.Reached("cam0", tracked, 4, time.Now())
				tracked++
				return strings.Contains(said.String(), want)
			})
			<-done
			if n := strings.Count(said.String(), "not stored any more"); n != 1 {
				t.Errorf("told %d times:\n%s", n, said)
			}
			if err := r.monitor.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A rig that stores nothing leaves an earlier stream alone, and says nothing.
func TestStoreThatIsOff(t *testing.T) {
	said := &log{}
	nc := connect(t, startNATS(t))
	cfg := config.Default()
	logger := slog.New(slog.NewTextHandler(said, nil))
	if k := beginSession(t.Context(), nc.Conn, cfg, logger); k != nil || said.String() != "" {
		t.Errorf("%v, %s", k, said)
	}
	cfg.Store.Enabled, cfg.Store.MaxGB = true, 0.01
	if k := beginSession(t.Context(), nc.Conn, cfg, logger); k == nil {
		t.Fatal(said)
	}
	cfg.Store.Enabled = false
	if k := beginSession(t.Context(), nc.Conn, cfg, logger); k != nil || said.String() != "" {
		t.Errorf("%v, %s", k, said)
	}
	js, err := jetstream.New(nc.Conn)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), ipc.ResultsStream(cfg.Rig))
	if err != nil || len(stream.CachedInfo().Config.Subjects) != 1 || stream.CachedInfo().State.Msgs != 1 {
		t.Errorf("%+v, %v", stream, err)
	}
}

// A replay of its own server lets others look on.
func TestReplayThatListens(t *testing.T) {
	t.Setenv("FACETRACK_DATA_DIR", t.TempDir())
	url := withSession(t, mustConfigure(t, "--config", write(t, "f.yaml", twoCameras)))
	code, _, stderr := run(t, "replay", "--nats", url, "--rig", "bench", "--listen", "127.0.0.1:-1", "--no-lsl", "--speed", "max", "--summary", filepath.Join(t.TempDir(), "a.json"))
	if code != 1 || !strings.Contains(stderr, "plays as rig bench-replay on nats://127.0.0.1:") || !strings.Contains(stderr, "has no frames") {
		t.Errorf("status %d, %s", code, stderr)
	}
}

// Where a service manager starts the processes, a run begins a session as well; it gets its end from the next.
func TestBeginBeginsASession(t *testing.T) {
	s := startNATS(t)
	file := write(t, "f.yaml", fmt.Sprintf("rig: begun\nring: {dir: %q}\ncameras: [{name: left, source: a}]\nstore: {enabled: true, max_gb: 0.01}\n", t.TempDir()))
	var all []ListedSession
	for range 2 {
		if code, _, stderr := run(t, "begin", "--config", file, "--nats", s.ClientURL()); code != 0 {
			t.Fatal(stderr)
		}
		code, stdout, stderr := run(t, "sessions", "--json", "--rig", "begun", "--nats", s.ClientURL())
		if code != 0 {
			t.Fatal(stderr)
		}
		if err := json.Unmarshal([]byte(stdout), &all); err != nil {
			t.Fatal(err)
		}
	}
	if len(all) != 2 || all[0].Orderly || all[1].Orderly || all[0].Messages != 1 {
		t.Errorf("%+v", all)
	}
}
