//go:build e2e

// Package e2e runs facetrack as a user does: real processes, a real NATS server, real shared memory.
package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"facetrack/internal/app"
	"facetrack/internal/telemetry"
	"facetrack/internal/testmodels"
	"facetrack/ipc"
)

// program is the facetrack binary under test.
var program string

func TestMain(m *testing.M) {
	if os.Getenv(strangerVariable) != "" {
		beStranger()
		return
	}
	program = os.Getenv("FACETRACK_BIN")
	if program == "" {
		fmt.Fprintln(os.Stderr, "e2e: set FACETRACK_BIN to the facetrack program (make e2e does)")
		os.Exit(1)
	}
	sweep()
	os.Exit(m.Run())
}

// deadline is how long anything may take before a test gives up.
const deadline = 90 * time.Second

// rig is one `facetrack up` under test, with a rig name and folder of its own.
type rig struct {
	t           *testing.T
	name        string
	dir         string
	url         string
	env         []string   // added to that of this process
	credentials string     // folder; empty: everybody may do everything
	nc          *nats.Conn // of services
	cmd         *exec.Cmd
	stderr      *buffer
	exited      chan struct{}
	err         error
}

// buffer collects what a process prints.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
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

// rigs counts those of this process.
var rigs atomic.Int64

// prepare makes a rig that is not started yet.
func prepare(t *testing.T) *rig {
	t.Helper()
	name := fmt.Sprintf("%s%d-%d", namePrefix, os.Getpid(), rigs.Add(1))
	r := &rig{t: t, name: name, dir: t.TempDir(), stderr: &buffer{}, exited: make(chan struct{})}
	t.Cleanup(r.noLeftovers)
	return r
}

// config writes a configuration with the drawn faces' models, and more lines as given.
func (r *rig) config(more string) string {
	r.t.Helper()
	files, err := testmodels.Write(r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	text := fmt.Sprintf("detect: {model: %q}\nlandmarks: {model: %q}\nlsl: {loopback_only: true}\n%s", files.Detector, files.Landmarks, more)
	return r.write("facetrack.yaml", text)
}

func (r *rig) write(name, text string) string {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	return path
}

func (r *rig) path(name string) string { return filepath.Join(r.dir, name) }

// up starts `facetrack up` with the rig's own name, port and data.
func (r *rig) up(args ...string) *rig {
	r.t.Helper()
	r.url = fmt.Sprintf("nats://127.0.0.1:%d", freePort(r.t))
	base := []string{
		"up", "--rig", r.name, "--listen", strings.TrimPrefix(r.url, "nats://"), "--data-dir", r.dir, "--summary", r.path("summary.json"),
	}
	return r.start(exec.Command(program, append(base, args...)...)) //nolint:gosec // the program under test
}

func (r *rig) start(cmd *exec.Cmd) *rig {
	r.t.Helper()
	r.cmd = cmd
	cmd.Env = append(os.Environ(), r.env...)
	cmd.Stderr, cmd.Stdout = r.stderr, r.stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} // when this process is killed
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the signal is sent when the thread ends that started the program
		defer runtime.UnlockOSThread()
		defer close(r.exited)
		err := cmd.Start()
		started <- err
		if err == nil {
			r.err = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-r.exited:
		case <-time.After(20 * time.Second):
			_ = cmd.Process.Kill()
			<-r.exited
		}
		if r.t.Failed() {
			r.t.Logf("facetrack said:\n%s", r.stderr)
		}
	})
	return r
}

// wait returns the exit status.
func (r *rig) wait() int {
	r.t.Helper()
	select {
	case <-r.exited:
	case <-time.After(deadline):
		r.t.Fatal("facetrack does not end")
	}
	var exit *exec.ExitError
	if errors.As(r.err, &exit) {
		return exit.ExitCode()
	}
	if r.err != nil {
		r.t.Fatal(r.err)
	}
	return 0
}

// mustEnd waits for a good end and returns the summary.
func (r *rig) mustEnd() app.Summary {
	r.t.Helper()
	if code := r.wait(); code != 0 {
		r.t.Fatalf("facetrack ended with status %d", code)
	}
	return r.summary()
}

func (r *rig) summary() app.Summary {
	r.t.Helper()
	data, err := os.ReadFile(r.path("summary.json"))
	if err != nil {
		r.t.Fatal(err)
	}
	var s app.Summary
	if err := json.Unmarshal(data, &s); err != nil {
		r.t.Fatal(err)
	}
	for name, c := range s.Cameras {
		if c.Captured != c.Tracked+c.TotalDropped() || c.Open != 0 {
			r.t.Errorf("camera %s: captured %d ≠ tracked %d + dropped %v (open %d)", name, c.Captured, c.Tracked, c.Dropped, c.Open)
		}
	}
	return s
}

func (r *rig) interrupt() {
	r.t.Helper()
	if err := r.cmd.Process.Signal(os.Interrupt); err != nil {
		r.t.Fatal(err)
	}
}

// status asks the running rig; nil when it does not answer yet.
func (r *rig) status() map[string]telemetry.Stats {
	cmd := exec.Command(program, "status", "--json", "--nats", r.url, "--rig", r.name) //nolint:gosec // the program under test
	cmd.Env = append(os.Environ(), r.env...)
	out, err := cmd.Output()
	if err != nil {
		return nil
	}
	var all []telemetry.Stats
	if err := json.Unmarshal(out, &all); err != nil {
		r.t.Fatalf("status --json: %v\n%s", err, out)
	}
	byStage := map[string]telemetry.Stats{}
	for _, s := range all {
		byStage[s.Stage] = s
	}
	return byStage
}

// eventually waits until a condition holds.
func (r *rig) eventually(what string, condition func() bool) {
	r.t.Helper()
	for end := time.Now().Add(deadline); !condition(); time.Sleep(20 * time.Millisecond) {
		select {
		case <-r.exited:
			r.t.Fatalf("facetrack ended before: %s", what)
		default:
		}
		if time.Now().After(end) {
			r.t.Fatalf("did not happen: %s", what)
		}
	}
}

// tracks reads a recording.
func tracks(t *testing.T, path string) []ipc.Tracks {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var out []ipc.Tracks
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		m, err := ipc.DecodeTracks(lines.Bytes())
		if err != nil {
			t.Fatalf("line %d of the recording: %v", len(out)+1, err)
		}
		out = append(out, m)
	}
	if lines.Err() != nil {
		t.Fatal(lines.Err())
	}
	return out
}

// upIn is up in a shell that prepares the surroundings; script ends with running "$@".
func (r *rig) upIn(script string, args ...string) *rig {
	r.t.Helper()
	r.url = fmt.Sprintf("nats://127.0.0.1:%d", freePort(r.t))
	base := []string{
		"-c", script, "sh", program,
		"up", "--rig", r.name, "--listen", strings.TrimPrefix(r.url, "nats://"), "--data-dir", r.dir, "--summary", r.path("summary.json"),
	}
	return r.start(exec.Command("sh", append(base, args...)...)) //nolint:gosec // the program under test
}
