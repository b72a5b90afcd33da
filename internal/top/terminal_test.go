package top

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"facetrack/internal/telemetry"
	"facetrack/ipc"
)

const deadline = 60 * time.Second

func dialer(url string) func(name string) (*ipc.Conn, error) {
	return func(name string) (*ipc.Conn, error) { return ipc.Connect(url, name, slog.New(slog.DiscardHandler)) }
}

// simulated is a terminal without a terminal, and whether it was given back.
type simulated struct {
	tcell.SimulationScreen
	shown chan string // each drawing
	last  string      // that until has seen
	left  atomic.Bool
}

func simulate(t *testing.T) *simulated {
	t.Helper()
	return &simulated{SimulationScreen: tcell.NewSimulationScreen("UTF-8"), shown: make(chan string, 10000)}
}

func (s *simulated) Init() error {
	err := s.SimulationScreen.Init()
	s.SetSize(80, 24)
	return err
}

func (s *simulated) Show() {
	s.SimulationScreen.Show()
	s.shown <- s.text()
}

func (s *simulated) Fini() {
	s.left.Store(true)
	s.SimulationScreen.Fini()
}

func (s *simulated) text() string {
	cells, width, _ := s.GetContents()
	var b strings.Builder
	for i, c := range cells {
		b.WriteString(string(c.Runes))
		if (i+1)%width == 0 {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// until waits for a drawing with this text.
func (s *simulated) until(t *testing.T, want string) {
	t.Helper()
	end := time.After(deadline)
	for !strings.Contains(s.last, want) {
		select {
		case s.last = <-s.shown:
		case <-end:
			t.Fatalf("%q is not on the screen:\n%s", want, s.last)
		}
	}
}

// show runs Show; what it returns, or panics with, arrives on the channel.
func show(ctx context.Context, s tcell.Screen, m *Model, w *Watcher) chan any {
	done := make(chan any, 1)
	go func() {
		var result any
		defer func() {
			if failure := recover(); failure != nil {
				result = failure
			}
			done <- result
		}()
		if err := Show(ctx, s, m, w); err != nil {
			result = err
		}
	}()
	return done
}

func wait(t *testing.T, done chan any) any {
	t.Helper()
	select {
	case result := <-done:
		return result
	case <-time.After(deadline):
		t.Fatal("Show does not end")
		return nil
	}
}

func startServer(t *testing.T, port int) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(deadline) {
		t.Fatal("the NATS server does not start")
	}
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s
}

// serve shows a process of a rig that has tracked some frames.
func serve(t *testing.T, url, stage string) *telemetry.Recorder {
	t.Helper()
	nc, err := ipc.Connect(url, t.Name(), slog.New(slog.DiscardHandler), nats.Timeout(deadline))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	r := telemetry.New(stage)
	r.Frame("cam0", 1, time.Millisecond, 5*time.Millisecond)
	if _, err := telemetry.Serve(nc.Conn, "lab", r); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil { // the server knows of it now
		t.Fatal(err)
	}
	return r
}

func TestShowFollowsTheRigAndTheKeys(t *testing.T) {
	s := startServer(t, -1)
	serve(t, s.ClientURL(), "tracker")
	capture := serve(t, s.ClientURL(), "capture")
	capture.State("cam0", "running")
	screen := simulate(t)
	done := show(t.Context(), screen, New("lab", s.ClientURL()), NewWatcher(dialer(s.ClientURL()), "lab", 50*time.Millisecond))
	screen.until(t, "1 camera ")
	screen.until(t, "no detect, landmark")
	capture.State("cam0", "lost: cable")
	screen.until(t, "cam0: lost: cable")
	for _, c := range []struct {
		key  tcell.Key
		r    rune
		want string
	}{
		{tcell.KeyRune, 's', "sort: dropped"},
		{tcell.KeyRune, 'h', "RUNS ON     what runs"},
		{tcell.KeyEscape, 0, "sort: dropped"},
		{tcell.KeyEnd, 0, "tracker: process"},
		{tcell.KeyUp, 0, "capture: process"},
		{tcell.KeyDown, 0, "tracker: process"},
		{tcell.KeyHome, 0, "cam0: lost"},
		{tcell.KeyPgDn, 0, "tracker: process"},
		{tcell.KeyRune, 'k', "capture: process"},
		{tcell.KeyRune, 'j', "tracker: process"},
		{tcell.KeyPgUp, 0, "cam0: lost"},
		{tcell.KeyCtrlL, 0, "cam0: lost"},
	} {
		screen.InjectKey(c.key, c.r, tcell.ModNone)
		screen.until(t, c.want)
	}
	screen.SetSize(100, 10)
	screen.InjectKey(tcell.KeyRune, 'h', tcell.ModNone)
	screen.until(t, "facetrack top ")
	screen.InjectKey(tcell.KeyRune, 'q', tcell.ModNone)
	if result := wait(t, done); result != nil || !screen.left.Load() {
		t.Errorf("q: %v, restored %v", result, screen.left.Load())
	}
}

// A server that is not there yet, that goes, and that comes back.
func TestShowWaitsForTheServer(t *testing.T) {
	s := startServer(t, -1)
	port := s.Addr().(*net.TCPAddr).Port
	url := s.ClientURL()
	s.Shutdown()
	s.WaitForShutdown()
	screen := simulate(t)
	ctx, stop := context.WithCancel(t.Context())
	done := show(ctx, screen, New("lab", url), NewWatcher(dialer(url), "lab", 50*time.Millisecond))
	screen.until(t, "no NATS server at")
	s = startServer(t, port)
	screen.until(t, "no process of rig")
	serve(t, url, "tracker")
	screen.until(t, "1 camera ")
	s.Shutdown()
	s.WaitForShutdown()
	screen.until(t, "the NATS server is away")
	startServer(t, port)
	screen.until(t, "the NATS server is there")
	screen.until(t, "1 camera ")
	stop()
	if result := wait(t, done); result != nil || !screen.left.Load() {
		t.Errorf("a signal: %v, restored %v", result, screen.left.Load())
	}
}

// Whatever breaks, the terminal is given back before the program says so.
func TestPanicGivesTheTerminalBack(t *testing.T) {
	screen := simulate(t)
	result := wait(t, show(t.Context(), screen, New("lab", ""), nil)) // no watcher: it breaks in its goroutine
	if result == nil || !screen.left.Load() {
		t.Errorf("result %v, restored %v", result, screen.left.Load())
	}
}

func TestBrokenTerminalEndsTheView(t *testing.T) {
	screen := simulate(t)
	done := show(t.Context(), screen, New("lab", ""), NewWatcher(dialer("nats://127.0.0.1:1"), "lab", time.Hour))
	screen.until(t, "no NATS server")
	if err := screen.PostEvent(tcell.NewEventError(context.DeadlineExceeded)); err != nil {
		t.Fatal(err)
	}
	if result := wait(t, done); result == nil || !screen.left.Load() {
		t.Errorf("result %v, restored %v", result, screen.left.Load())
	}
}

func TestPrintOnce(t *testing.T) {
	s := startServer(t, -1)
	w := func() *Watcher { return NewWatcher(dialer(s.ClientURL()), "lab", 100*time.Millisecond) }
	var out bytes.Buffer
	err := Print(t.Context(), &out, New("lab", s.ClientURL()), w(), true)
	if err == nil || !strings.Contains(err.Error(), `no process of rig "lab" answers`) || out.Len() > 0 {
		t.Errorf("nobody there: %v, %q", err, out.String())
	}
	tracker := serve(t, s.ClientURL(), "tracker")
	tracker.Drop("cam0", "overwritten")
	if err := Print(t.Context(), &out, New("lab", s.ClientURL()), w(), true); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"facetrack top   rig lab", "\nCAMERA ", "\ncam0 ", "\nSTAGE ", "\ntracker ", "  dropped: tracker overwritten 1\n"} {
		if strings.Count(out.String(), want) != 1 {
			t.Errorf("%q is not there once:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Errorf("control characters: %q", out.String())
	}
}

// lines hands on what is written.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

func TestPrintAgainAndAgain(t *testing.T) {
	s := startServer(t, -1)
	serve(t, s.ClientURL(), "tracker")
	ctx, stop := context.WithCancel(t.Context())
	out, done := make(lines, 100), make(chan error, 1)
	go func() {
		done <- Print(ctx, out, New("lab", s.ClientURL()), NewWatcher(dialer(s.ClientURL()), "lab", 20*time.Millisecond), false)
	}()
	for range 3 {
		select {
		case text := <-out:
			if !strings.Contains(text, "tracker") {
				t.Errorf("%q", text)
			}
		case <-time.After(deadline):
			t.Fatal("nothing is printed")
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
