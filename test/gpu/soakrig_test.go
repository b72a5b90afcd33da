//go:build cuda

package gpu

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"facetrack/internal/clock"
	"facetrack/internal/monitor"
	"facetrack/internal/stage"
	"facetrack/internal/telemetry"
	"facetrack/internal/testmodels"
	"facetrack/ipc"
)

// soakRig is one `facetrack up` with a drawn face.
type soakRig struct {
	t          *testing.T
	name, dir  string
	cmd        *exec.Cmd
	said       *os.File
	exited     chan struct{}
	nc         *ipc.Conn
	tracked    atomic.Int64 // capture time of the newest frame that came through
	spared     string       // the stage that is never killed: what others' deaths leave behind would be seen in it
	killed     map[string]time.Time
	kills      map[string]int
	transports map[string]string // by which detect and landmarks get pixels
}

// patience is how long a process may take to tell its numbers.
const patience = 2 * time.Second

func soakName() string { return fmt.Sprintf("soak-%d-", os.Getpid()) }

func newSoakRig(t *testing.T, program string, i int) *soakRig {
	t.Helper()
	r := &soakRig{
		t: t, name: fmt.Sprint(soakName(), i), dir: t.TempDir(), exited: make(chan struct{}), killed: map[string]time.Time{}, kills: map[string]int{},
		spared: []string{"", stage.Capture, stage.Detect, stage.Landmarks}[i%4],
	}
	files, err := testmodels.Write(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(r.dir, "facetrack.yaml")
	text := fmt.Sprintf("detect: {model: %q}\nlandmarks: {model: %q}\nlsl: {loopback_only: true}\n", files.Detector, files.Landmarks)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	listen := freeAddress(t)
	if r.said, err = os.Create(filepath.Join(r.dir, "stderr")); err != nil {
		t.Fatal(err)
	}
	r.cmd = exec.Command(program, "up", "--rig", r.name, "--listen", listen, "--data-dir", r.dir, "--config", config,
		"--source", fmt.Sprintf("synthetic:faces=1,fps=30,seed=%d", i+1), "--summary", filepath.Join(r.dir, "summary.json"))
	r.cmd.Stderr, r.cmd.Stdout = r.said, r.said
	r.start()
	t.Cleanup(r.close)
	r.connect("nats://" + listen)
	return r
}

// start runs the program so that it ends if this process is killed.
func (r *soakRig) start() {
	r.t.Helper()
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the signal is sent when the thread ends that started the program
		defer runtime.UnlockOSThread()
		defer close(r.exited)
		err := r.cmd.Start()
		started <- err
		if err == nil {
			_ = r.cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		r.t.Fatal(err)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// connect waits for the rig's server and listens to what comes out at the far end.
func (r *soakRig) connect(url string) {
	r.t.Helper()
	r.eventually("the rig's server answers", func() (err error) {
		r.nc, err = ipc.Connect(url, "soak", slog.New(slog.DiscardHandler))
		return err
	})
	_, err := r.nc.Subscribe(ipc.AllCameras(r.name, ipc.KindTracks), func(m *nats.Msg) {
		if tracks, err := ipc.DecodeTracks(m.Data); err == nil {
			r.tracked.Store(max(r.tracked.Load(), tracks.CaptureNS))
		}
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// eventually repeats until it goes well; after a minute it says so and returns false.
func (r *soakRig) eventually(what string, try func() error) bool {
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if err = try(); err == nil {
			return true
		}
		select {
		case <-r.exited:
			r.t.Errorf("%s: facetrack ended before: %s", r.name, what)
			return false
		default:
		}
	}
	r.t.Errorf("%s: did not happen: %s: %v", r.name, what, err)
	return false
}

// status asks processes of the rig; an error when one does not answer within wait.
func (r *soakRig) status(wait time.Duration, names ...string) (map[string]telemetry.Stats, error) {
	all, err := monitor.Status(r.nc.Conn, r.name, names, wait)
	if err != nil {
		return nil, err
	}
	byStage := map[string]telemetry.Stats{}
	for _, s := range all {
		byStage[s.Stage] = s
	}
	if len(byStage) != len(names) {
		return nil, fmt.Errorf("%d of %d processes answer", len(byStage), len(names))
	}
	return byStage, nil
}

func (r *soakRig) pids() map[string]int {
	pids := map[string]int{}
	r.eventually("all processes answer", func() error {
		all, err := r.status(patience, stage.Names...)
		for name, s := range all {
			pids[name] = s.PID
		}
		return err
	})
	return pids
}

// waitForFlow waits until frames go through the whole rig, and checks how pixels get to their consumers.
func (r *soakRig) waitForFlow() {
	r.t.Helper()
	now := clock.Now()
	ok := r.eventually("frames flow", func() error {
		if r.tracked.Load() < now {
			return fmt.Errorf("no frame is tracked")
		}
		all, err := r.status(patience, stage.Names...)
		if err != nil {
			return err
		}
		return r.checkLinks(all)
	})
	if !ok {
		r.t.FailNow()
	}
}

func (r *soakRig) checkLinks(all map[string]telemetry.Stats) error {
	seen := map[string]string{}
	for _, name := range []string{stage.Detect, stage.Landmarks} {
		link := all[name].Cameras["cam0"].Link
		if link == nil || link.Transport == "" || all[name].Cameras["cam0"].Frames == 0 {
			return fmt.Errorf("%s has no link yet", name)
		}
		seen[name] = link.Transport
		if link.Transport != string(ipc.CUDAIPC) {
			return fmt.Errorf("%s reads by %s (%s), not in device memory", name, link.Transport, link.Reason)
		}
	}
	r.transports = seen
	return nil
}

func (r *soakRig) close() {
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-r.exited:
	case <-time.After(20 * time.Second):
		_ = r.cmd.Process.Kill()
		<-r.exited
	}
	if r.nc != nil {
		_ = r.nc.Close()
	}
	_ = r.said.Close()
	if r.t.Failed() {
		said, _ := os.ReadFile(r.said.Name())
		lines := strings.Split(string(said), "\n")
		r.t.Logf("%s said at the end:\n%s", r.name, strings.Join(lines[max(0, len(lines)-40):], "\n"))
	}
}
