//go:build e2e

package e2e

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"facetrack/internal/app"
)

// startServer runs a NATS server with JetStream on a port and store of the test's.
func startServer(t *testing.T, port int, store string) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: store, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("NATS server is not ready")
	}
	return s
}

// The NATS server stops and starts again: every stage reconnects, frames flow again, the books balance and nothing
// that was recorded is lost.
func TestServerStopsAndStarts(t *testing.T) {
	r := prepare(t)
	port, store := freePort(t), r.path("store")
	s := startServer(t, port, store)
	defer func() { s.Shutdown() }()
	url := s.ClientURL()
	r.up("--config", r.config(""), "--source", "synthetic:faces=1,fps=30", "--record", r.path("a.jsonl"), "--nats", url)
	r.url = url
	r.eventually("frames flow", func() bool { return r.status()["tracker"].Cameras["cam0"].Frames > 10 })
	pids := map[string]int{}
	for name, st := range r.status() {
		pids[name] = st.PID
	}
	s.Shutdown()
	s.WaitForShutdown()
	s = startServer(t, port, store)
	var before uint64
	r.eventually("the tracker answers again", func() bool {
		before = r.status()["tracker"].Cameras["cam0"].Frames
		return before > 0
	})
	r.eventually("frames flow again", func() bool { return r.status()["tracker"].Cameras["cam0"].Frames > before+30 })
	for name, st := range r.status() {
		if st.PID != pids[name] {
			t.Errorf("%s was restarted", name)
		}
	}
	r.interrupt()
	cam := r.mustEnd().Cameras["cam0"]
	checkRecording(t, r, cam.Tracked)
	t.Logf("captured %d = tracked %d + dropped %v", cam.Captured, cam.Tracked, cam.Dropped)
}

// The NATS server stops for good: the run ends with one clear line, every captured frame is in the books, and what
// was recorded stays.
func TestServerStopsForGood(t *testing.T) {
	t.Parallel()
	r := prepare(t)
	port := freePort(t)
	s := startServer(t, port, r.path("store"))
	defer s.Shutdown()
	r.up("--config", r.config(""), "--source", "synthetic:faces=1,fps=30,frames=90", "--record", r.path("a.jsonl"), "--nats", s.ClientURL())
	r.url = s.ClientURL()
	var sum app.Summary
	r.eventually("frames flow", func() bool { return r.status()["tracker"].Cameras["cam0"].Frames > 10 })
	capture := r.status()["capture"].PID
	s.Shutdown()
	s.WaitForShutdown()
	r.eventually("capture comes to the end of its source", func() bool { return syscall.Kill(capture, 0) != nil })
	r.eventually("the loss is told", func() bool { return strings.Contains(r.stderr.String(), "disconnected") })
	r.interrupt()
	if code := r.wait(); code == 0 {
		t.Error("status 0")
	}
	if sum = r.summary(); sum.Cameras["cam0"].Captured != 90 {
		t.Errorf("%d of 90 captured frames are in the books", sum.Cameras["cam0"].Captured)
	}
	checkRecording(t, r, sum.Cameras["cam0"].Tracked)
	if n := strings.Count(r.stderr.String(), "disconnected; reconnecting"); n != 1 || !strings.Contains(r.stderr.String(), "NATS server is gone") {
		t.Errorf("told %d times that the server is gone:\n%s", n, r.stderr)
	}
}

// A server without JetStream cannot hold the configuration: one clear line.
func TestServerWithoutJetStream(t *testing.T) {
	t.Parallel()
	r := prepare(t)
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: freePort(t), NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer s.Shutdown()
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("NATS server is not ready")
	}
	if code := r.up("--config", r.config(""), "--source", "synthetic:", "--nats", s.ClientURL()).wait(); code == 0 {
		t.Error("status 0")
	}
	oneClearLine(t, r.stderr.String(), "JetStream", "-js")
	if strings.Contains(r.stderr.String(), "is up") {
		t.Error("claims to be up")
	}
}

// A process that is killed while the server is away for long is back as soon as the server is: it waits, and does not end again and again
// with longer and longer pauses.
func TestKilledWhileTheServerIsAway(t *testing.T) {
	r := prepare(t)
	port, store := freePort(t), r.path("store")
	s := startServer(t, port, store)
	defer func() { s.Shutdown() }()
	url := s.ClientURL()
	r.up("--config", r.config(""), "--source", "synthetic:faces=1,fps=30", "--nats", url)
	r.url = url
	r.eventually("frames flow", func() bool { return r.status()["tracker"].Cameras["cam0"].Frames > 10 })
	tracker := r.status()["tracker"].PID
	s.Shutdown()
	s.WaitForShutdown()
	r.signal(tracker, syscall.SIGKILL)
	away := time.NewTimer(6500 * time.Millisecond) // with pauses that double, the next start would be seconds later
	r.eventually("the server was away for long", func() bool {
		select {
		case <-away.C:
			return true
		default:
			return false
		}
	})
	s = startServer(t, port, store)
	back := time.Now()
	r.eventually("the tracker tracks", func() bool { return r.status()["tracker"].Cameras["cam0"].Frames > 0 })
	if after := time.Since(back); after > backInFlow {
		t.Errorf("back in the flow %v after the server, want %v at most", after.Round(time.Millisecond), backInFlow)
	} else {
		t.Logf("back in the flow %v after the server", after.Round(time.Millisecond))
	}
	r.interrupt()
	if n := r.mustEnd().Restarts["tracker"]; n != 1 {
		t.Errorf("the tracker was started again %d times, want 1", n)
	}
}
