package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"facetrack/internal/app/supervise"
	"facetrack/internal/auth"
	"facetrack/internal/clock"
	"facetrack/internal/config"
	"facetrack/internal/monitor"
	"facetrack/internal/stage"
	"facetrack/internal/telemetry"
	"facetrack/ipc"
)

// manager is a service manager that hears what this process says.
type manager struct {
	t    *testing.T
	conn *net.UnixConn
}

func newManager(t *testing.T, watchdog time.Duration) *manager {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	if watchdog > 0 {
		t.Setenv("WATCHDOG_USEC", fmt.Sprint(watchdog.Microseconds()))
		t.Setenv("WATCHDOG_PID", fmt.Sprint(os.Getpid()))
	}
	return &manager{t, conn}
}

// next is what the process says next, "" when it says nothing for so long.
func (m *manager) next(within time.Duration) string {
	m.t.Helper()
	if err := m.conn.SetReadDeadline(time.Now().Add(within)); err != nil {
		m.t.Fatal(err)
	}
	buf := make([]byte, 4096)
	n, err := m.conn.Read(buf)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		m.t.Fatal(err)
	}
	return string(buf[:n])
}

// hear waits for a message that begins like this.
func (m *manager) hear(begin string) string {
	m.t.Helper()
	for end := time.Now().Add(deadline); time.Now().Before(end); {
		if text := m.next(deadline); strings.HasPrefix(text, begin) {
			return text
		}
	}
	m.t.Fatalf("never said: %s", begin)
	return ""
}

// The watchdog hears of a process only as long as it says itself that it lives.
func TestWatchdogHearsNothingOfAHang(t *testing.T) {
	m := newManager(t, 40*time.Millisecond)
	env := &stage.Env{Vigil: &stage.Vigil{}, Telemetry: telemetry.New(stage.Tracker)}
	stop := watchdog(func() error { return alive(env) }, quiet)
	defer stop()
	for range 10 {
		m.hear("WATCHDOG=1") // nothing to do, and alive
	}
	ended := env.Vigil.Begin()
	for m.next(200*time.Millisecond) != "" {
	}
	if text := m.next(100 * time.Millisecond); text != "" {
		t.Errorf("work that stands still: %q", text)
	}
	ended()
	m.hear("WATCHDOG=1")
}

// A lock that is never given back keeps the watchdog silent as well: statistics need it.
func TestWatchdogHearsNothingOfADeadlock(t *testing.T) {
	m := newManager(t, 40*time.Millisecond)
	env := &stage.Env{Vigil: &stage.Vigil{}, Telemetry: telemetry.New(stage.Capture)}
	held := make(chan struct{})
	stop := watchdog(func() error { return alive(env) }, quiet)
	defer stop()
	m.hear("WATCHDOG=1")
	env.Telemetry.SetRing("cam0", func() any { <-held; return nil })
	for m.next(200*time.Millisecond) != "" {
	}
	close(held)
	m.hear("WATCHDOG=1")
}

func TestNoWatchdogIsWantedHere(t *testing.T) {
	m := newManager(t, 0)
	watchdog(func() error { t.Error("asked for a sign of life"); return nil }, quiet)()
	if text := m.next(20 * time.Millisecond); text != "" {
		t.Errorf("%q", text)
	}
}

// A stage that starts first waits for the server, says so, and takes part once it is there.
func TestStageWaitsForTheServer(t *testing.T) {
	m := newManager(t, 0)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	file := write(t, "f.yaml", "nats: {listen: "+address+"}\nlsl: {enabled: false}\n")
	ended := make(chan int, 1)
	go func() { ended <- StageMain(stage.LSLOut, []string{"--config", file, "--wait", "--log-level", "error"}) }()
	if text := m.hear("STATUS=waiting"); !strings.Contains(text, "no NATS server") {
		t.Errorf("%q", text)
	}
	m.hear("EXTEND_TIMEOUT_USEC=")
	cfg := config.Default()
	cfg.DataDir, cfg.NATS.Listen = t.TempDir(), address
	s, err := startBus(t.Context(), cfg, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.stop() }()
	if text := m.hear("STATUS="); text != "STATUS=" {
		t.Errorf("it still waits: %q", text)
	}
	m.hear("READY=1")
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	m.hear("STOPPING=1")
	if code := <-ended; code != 0 {
		t.Errorf("status %d", code)
	}
}

// One that is told to end while it waits ends in order.
func TestWaitingStageCanBeStopped(t *testing.T) {
	m := newManager(t, 0)
	ended := make(chan int, 1)
	go func() {
		ended <- StageMain(stage.Detect, []string{"--nats", "nats://127.0.0.1:1", "--wait", "--log-level", "error"})
	}()
	m.hear("STATUS=waiting")
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := <-ended; code != 0 {
		t.Errorf("status %d", code)
	}
}

func TestWhereTheServerIs(t *testing.T) {
	folder := t.TempDir()
	for _, c := range []struct{ flag, url, listen, want string }{
		{"nats://flag:1", "nats://file:1", "127.0.0.1:4222", "nats://flag:1"},
		{"", "nats://file:1", "127.0.0.1:4222", "nats://file:1"},
		{"", "", "127.0.0.1:4333", "nats://127.0.0.1:4333"},
		{"", "", "0.0.0.0:4333", "nats://127.0.0.1:4333"},
		{"", "", "[::]:4333", "nats://127.0.0.1:4333"},
		{"", "", ":4333", "nats://127.0.0.1:4333"},
	} {
		if got, err := serverURL(c.flag, config.NATS{URL: c.url, Listen: c.listen}); got != c.want || err != nil {
			t.Errorf("%+v: %s, %v", c, got, err)
		}
	}
	t.Setenv("CREDENTIALS_DIRECTORY", folder)
	if got := handedOver(urlFile); got != "" {
		t.Errorf("nothing was handed over: %s", got)
	}
	if err := os.WriteFile(filepath.Join(folder, urlFile), []byte("nats://me:secret@other:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := serverURL("", config.NATS{URL: "nats://file:1"}); got != "nats://me:secret@other:1" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

const twoGPUs = `cameras:
  - {name: left, source: a, gpu: 0}
  - {name: right, source: b, gpu: 1}
participants: [{name: mother, camera: left}, {name: child, camera: right}]
`

func TestCamerasOfAGPU(t *testing.T) {
	names := func(file, gpu string) (string, config.Config, error) {
		f := StageFlags{Config: file, GPU: gpu}
		cfg, _, err := f.configuration(t.Context(), nil, quiet)
		cfg = f.mine(cfg)
		return strings.Join(cameraNames(cfg), " "), cfg, err
	}
	two := write(t, "two.yaml", twoGPUs)
	for gpu, want := range map[string]string{"0": "left", "1": "right", "": "left right"} {
		got, cfg, err := names(two, gpu)
		if err != nil || got != want || gpu != "" && cfg.CUDA.GPU != gpu {
			t.Errorf("GPU %q: %q on %q, %v", gpu, got, cfg.CUDA.GPU, err)
		}
	}
	for _, gpu := range []string{"2", "cpu", "banana"} {
		if _, _, err := names(two, gpu); err == nil || !strings.Contains(err.Error(), gpu) {
			t.Errorf("GPU %s: %v", gpu, err)
		}
	}
	any := write(t, "any.yaml", "cameras: [{name: left, source: a}, {name: right, source: b}]\n")
	if got, cfg, err := names(any, "cpu"); err != nil || got != "left right" || cfg.CUDA.GPU != "off" {
		t.Errorf("%q on %q, %v", got, cfg.CUDA.GPU, err)
	}
	if _, _, err := names(any, "banana"); err == nil || !strings.Contains(err.Error(), "banana") {
		t.Errorf("no GPU: %v", err)
	}
}

func TestCamerasAreOneProcessesAlone(t *testing.T) {
	cfg := config.Default()
	cfg.Cameras = []config.Camera{{Name: "left"}, {Name: "right"}}
	url := "nats://" + t.Name()
	f := StageFlags{GPU: "0"}
	first, err := f.share(stage.Detect, url, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.share(stage.Landmarks, url, cfg); err != nil {
		t.Errorf("another stage: %v", err)
	}
	other := cfg
	other.Cameras = []config.Camera{{Name: "middle"}, {Name: "right"}}
	for range 2 { // what was taken before the error is given back
		if _, err := f.share(stage.Detect, url, other); err == nil || !strings.Contains(err.Error(), "another detect process has camera right") {
			t.Errorf("taken: %v", err)
		}
	}
	second := stage.NewShare(func(camera string) (io.Closer, error) { return claimed(stage.Detect, url, cfg.Rig, camera) })
	if err := second.Take("middle", "left"); err == nil || second.Has("middle") || second.Has("left") {
		t.Errorf("half of the cameras: %v", err)
	}
	first.Give("right")
	if err := second.Take("right"); err != nil || first.Has("right") || !second.Has("right") {
		t.Errorf("a camera that was given away: %v", err)
	}
	if err := errors.Join(first.Close(), second.Close()); err != nil {
		t.Fatal(err)
	}
	again, err := f.share(stage.Detect, url, other)
	if err != nil {
		t.Fatalf("given back: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	if none, err := (&StageFlags{}).share(stage.Detect, url, cfg); none != nil || err != nil {
		t.Errorf("all cameras: %v, %v", none, err)
	}
	one := StageFlags{Camera: []string{"left"}}
	for range 2 { // cameras by name are not claimed: their rings are
		if s, err := one.share(stage.Capture, url, cfg); err != nil || !s.Has("left") || s.Has("right") {
			t.Errorf("one camera: %v", err)
		}
	}
}

// A process that shares the cameras of its stage with others leaves theirs alone.
func TestShareOfTheCameras(t *testing.T) {
	nc := connect(t, startNATS(t))
	env := &stage.Env{Config: config.Default(), Bus: nc.Conn, Share: stage.NewShare(nil)}
	if err := env.Share.Take("left"); err != nil {
		t.Fatal(err)
	}
	heard := make(chan string, 10)
	if _, err := env.Subscribe(ipc.KindFrame, func(data []byte) { heard <- string(data) }); err != nil {
		t.Fatal(err)
	}
	for _, camera := range []string{"right", "left", "left"} {
		if err := nc.Publish(ipc.Subject("lab", camera, ipc.KindFrame), []byte(camera)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if got := <-heard; got != "left" {
			t.Errorf("a frame of camera %s", got)
		}
	}
	if env.Share = nil; !env.Serves("right") {
		t.Error("without others all cameras are this process's")
	}
}

func TestServerOfItsOwn(t *testing.T) {
	m := newManager(t, time.Second)
	dir := t.TempDir()
	ended := make(chan int, 1)
	go func() {
		ended <- Main([]string{"nats", "--listen", "127.0.0.1:-1", "--data-dir", dir, "--rig", "alone", "--log-level", "error"})
	}()
	url := strings.TrimPrefix(strings.TrimSpace(strings.TrimPrefix(m.hear("READY=1"), "READY=1")), "STATUS=")
	m.hear("WATCHDOG=1")
	nc, err := ipc.Connect(url, t.Name(), quiet)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openBucket(t.Context(), nc.Conn, "alone", ""); err != nil {
		t.Error(err)
	}
	if err := nc.Close(); err != nil {
		t.Error(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	m.hear("STOPPING=1")
	if code := <-ended; code != 0 {
		t.Errorf("status %d", code)
	}
	if _, err := os.Stat(filepath.Join(dir, "alone", "jetstream")); err != nil {
		t.Error(err)
	}
}

// With credentials everybody has a role, and the server's own process hears whether it answers all the same.
func TestGuardedServerOfItsOwn(t *testing.T) {
	m := newManager(t, time.Second)
	dir := credentials(t)
	shm := t.TempDir()
	file := write(t, "f.yaml", fmt.Sprintf("nats: {listen: 127.0.0.1:-1, credentials: %s}\nring: {dir: %q}\ncameras: [{name: left, source: a}]\n", dir, shm))
	ended := make(chan int, 1)
	go func() {
		ended <- Main([]string{"nats", "--config", file, "--data-dir", t.TempDir(), "--log-level", "error"})
	}()
	url := strings.TrimPrefix(strings.TrimSpace(strings.TrimPrefix(m.hear("READY=1"), "READY=1")), "STATUS=")
	for range 2 {
		m.hear("WATCHDOG=1")
	}
	if code, _, stderr := run(t, "begin", "--config", file, "--nats", url); code != 0 {
		t.Fatalf("status %d: %s", code, stderr)
	}
	nc, err := dial(url, t.Name(), auth.LSLOut, auth.Access{Credentials: dir}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	settings, err := openSettings(t.Context(), nc.Conn, "lab", auth.LSLOut)
	if err != nil {
		t.Fatal(err)
	}
	if cfg, _, err := storedConfig(t.Context(), settings, quiet); err != nil || len(cfg.Cameras) != 1 {
		t.Errorf("stored: %+v, %v", cfg.Cameras, err)
	}
	if err := nc.Close(); err != nil {
		t.Error(err)
	}
	for name, args := range map[string][]string{
		"begin with other keys":       {"begin", "--nats", url, "--credentials", credentials(t), "--wait"},
		"begin for another rig":       {"begin", "--nats", url, "--credentials", dir, "--rig", "other", "--wait"},
		"a stage with other keys":     {"stage", "lsl-out", "--nats", url, "--credentials", credentials(t), "--wait"},
		"a stage of another rig":      {"stage", "lsl-out", "--nats", url, "--credentials", dir, "--rig", "other", "--wait"},
		"a server without its folder": {"nats", "--listen", "127.0.0.1:-1", "--data-dir", t.TempDir(), "--credentials", t.TempDir()},
		"an open server without keys": {"nats", "--listen", "0.0.0.0:-1", "--data-dir", t.TempDir()},
	} {
		code, _, stderr := run(t, append(args, "--log-level", "error")...)
		if code != supervise.ExitConfig || stderr == "" {
			t.Errorf("%s: status %d: %s", name, code, stderr)
		}
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := <-ended; code != 0 {
		t.Errorf("status %d", code)
	}
}

// A server that is gone is not alive.
func TestServerThatDoesNotAnswer(t *testing.T) {
	cfg := config.Default()
	cfg.DataDir, cfg.NATS.Listen = t.TempDir(), "127.0.0.1:-1"
	s, err := startBus(t.Context(), cfg, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.answers(); err != nil {
		t.Error(err)
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	if s.answers() == nil {
		t.Error("a server that was shut down answers")
	}
}

func TestBeginARun(t *testing.T) {
	s := startNATS(t)
	nc := connect(t, s)
	shm := t.TempDir()
	file := write(t, "f.yaml", fmt.Sprintf("rig: begun\nring: {dir: %q}\ncameras: [{name: left, source: a}]\n", shm))
	bucket, err := openBucket(t.Context(), nc.Conn, "begun", "")
	if err != nil {
		t.Fatal(err)
	}
	remember := func() {
		t.Helper()
		if err := bucket.PutRing(t.Context(), ipc.RingState{Camera: "left", NextSeq: 7, WallNS: clock.Wall()}); err != nil {
			t.Fatal(err)
		}
	}
	forgotten := func() bool {
		_, err := bucket.Ring(t.Context(), "left")
		return errors.Is(err, ipc.ErrNoKey)
	}
	begin := func() string {
		t.Helper()
		code, stdout, stderr := run(t, "begin", "--config", file, "--nats", s.ClientURL(), "--log-level", "error")
		if code != 0 {
			t.Fatalf("status %d: %s", code, stderr)
		}
		return stdout
	}
	remember()
	if begin(); !forgotten() {
		t.Error("the run before is remembered")
	}
	settings, err := openSettings(t.Context(), nc.Conn, "begun", "")
	if err != nil {
		t.Fatal(err)
	}
	stored := func(revision uint64, every int) {
		t.Helper()
		cfg, r, err := storedConfig(t.Context(), settings, quiet)
		if err != nil || r != revision || cfg.Rig != "begun" || len(cfg.Cameras) != 1 || cfg.Detect.Every != every {
			t.Errorf("stored: revision %d, %+v, every %d, %v; want revision %d, every %d", r, cfg.Cameras, cfg.Detect.Every, err, revision, every)
		}
	}
	stored(1, 5)
	service, err := telemetry.Serve(nc.Conn, "begun", telemetry.New(stage.Tracker))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = service.Stop() }()
	eventually(t, "the tracker answers", func() bool {
		all, err := monitor.Status(nc.Conn, "begun", stage.Names, time.Second)
		return err == nil && len(all) == 1
	})
	remember()
	if text := begin(); forgotten() || !strings.Contains(text, "runs already") {
		t.Errorf("a run that goes on is forgotten; %q", text)
	}
	stored(1, 5)
	cfg, _, err := storedConfig(t.Context(), settings, quiet)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Detect.Every = 7
	if _, err := storeConfig(t.Context(), settings, cfg, "set detect.every=7"); err != nil {
		t.Fatal(err)
	}
	begin()
	stored(2, 7) // what was changed while the rig runs stays …
	if err := os.WriteFile(file, fmt.Appendf(nil, "rig: begun\nring: {dir: %q}\ncameras: [{name: left, source: a}]\ndetect: {every: 9}\n", shm), 0o600); err != nil {
		t.Fatal(err)
	}
	begin()
	stored(3, 9) // … unless the file was
}

func TestBeginFails(t *testing.T) {
	code, _, stderr := run(t, "begin", "--nats", "nats://127.0.0.1:1")
	if code != 1 {
		t.Errorf("status %d", code)
	}
	expectLine(t, stderr, "no NATS server")
	for _, service := range []string{"begin", "nats"} {
		if code, _, stderr = run(t, service, "--config", write(t, "f.yaml", "rig: a b\n")); code != supervise.ExitConfig {
			t.Errorf("%s with a configuration that cannot be: status %d", service, code)
		}
		expectLine(t, stderr, "cannot run", "rig is")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := &BeginCmd{NATS: "nats://127.0.0.1:1", Wait: true, LogLevel: "error"}
	if err := c.Run(ctx); err != nil {
		t.Errorf("told to end while it waits: %v", err)
	}
}

func TestCamerasOfAConfiguration(t *testing.T) {
	code, stdout, _ := run(t, "cameras", "--config", write(t, "f.yaml", twoCameras))
	if code != 0 || stdout != "left\nright\n" {
		t.Errorf("status %d, %q", code, stdout)
	}
	if code, _, _ := run(t, "cameras", "--config", "/none.yaml"); code != 1 {
		t.Errorf("no file: status %d", code)
	}
}

func TestServerOfAConfiguration(t *testing.T) {
	for text, want := range map[string]string{
		"nats: {listen: 127.0.0.1:4333}\n":                 "",
		"nats:\n  # url: nats://x:4222\n  url: \"\"\n":     "",
		"nats: {url: \"nats://x:4222\"}\n":                 "nats://x:4222\n",
		"nats:\n  url: 'tls://x:4222'\n":                   "tls://x:4222\n",
		"nats:\n  url: x:4222\n":                           "x:4222\n",
		"cameras: [{name: cam0, source: rtsp://x:4222}]\n": "",
	} {
		if code, stdout, _ := run(t, "cameras", "--server", "--config", write(t, "f.yaml", text)); code != 0 || stdout != want {
			t.Errorf("%q: status %d, %q", text, code, stdout)
		}
	}
	for _, name := range []string{"FACETRACK_NATS", "FACETRACK_NATS_URL"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "nats://env:4222")
			code, stdout, _ := run(t, "cameras", "--server", "--config", write(t, "f.yaml", "nats: {url: \"nats://x:4222\"}\n"))
			if code != 0 || stdout != "nats://env:4222\n" {
				t.Errorf("status %d, %q", code, stdout)
			}
		})
	}
}

// A configuration whose cameras no instance has is an error for good.
func TestInstanceWithoutCamerasHasItsOwnStatus(t *testing.T) {
	s := startNATS(t)
	code, _, stderr := run(t, "stage", "detect", "--nats", s.ClientURL(), "--config", write(t, "f.yaml", twoGPUs), "--gpu", "7", "--log-level", "error")
	if code != supervise.ExitConfig {
		t.Errorf("status %d", code)
	}
	expectLine(t, stderr, "detect: ", "no camera of the configuration is on GPU 7")
}
