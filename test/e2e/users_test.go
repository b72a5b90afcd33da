//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"facetrack/internal/stage"
	"facetrack/internal/testmodels"
)

const (
	firstUser   = 54330 // of the stages, in the order of stage.Names
	sharedGroup = 54321 // which those have that write and read rings
)

// public makes a folder that all users may read, and puts the program there.
func (r *rig) public() (dir, facetrack string) {
	r.t.Helper()
	dir, err := os.MkdirTemp("", "facetrack-users-")
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	facetrack = filepath.Join(dir, "facetrack")
	if err := os.Chmod(dir, 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(facetrack, []byte(read(r.t, program)), 0o755); err != nil { //nolint:gosec // a program
		r.t.Fatal(err)
	}
	return dir, facetrack
}

// hand puts files of the credentials into a folder of a user's own.
func (r *rig) hand(dir string, uid int, names ...string) string {
	r.t.Helper()
	own := filepath.Join(dir, fmt.Sprint("auth-", uid))
	if err := os.Mkdir(own, 0o700); err != nil {
		r.t.Fatal(err)
	}
	for _, name := range names {
		path := filepath.Join(own, name)
		if err := os.WriteFile(path, []byte(read(r.t, filepath.Join(r.credentials, name))), 0o600); err != nil {
			r.t.Fatal(err)
		}
		if err := os.Chown(path, uid, uid); err != nil {
			r.t.Fatal(err)
		}
	}
	if err := os.Chown(own, uid, uid); err != nil {
		r.t.Fatal(err)
	}
	return own
}

// Each stage as a user of its own, with its own key and no other, on a server that runs by the written configuration. Those that write
// and read pixels share a group for the rings; who is not in it opens none, not even with a key of the rig.
func TestStagesAsUsersOfTheirOwn(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: needs root, to run processes as other users")
	}
	r := prepare(t).withCredentials()
	r.exited = nil // no facetrack up here
	options, err := server.ProcessConfigFile(filepath.Join(r.credentials, "nats-server.conf"))
	if err != nil {
		t.Fatal(err)
	}
	options.Host, options.Port, options.StoreDir, options.NoLog, options.NoSigs = "127.0.0.1", freePort(t), r.path("store"), true, true
	s, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer func() { s.Shutdown(); s.WaitForShutdown() }()
	if !s.ReadyForConnections(deadline) {
		t.Fatal("NATS server is not ready")
	}
	r.url = s.ClientURL()
	if out, err := command(t, "auth", "prepare", "--nats", r.url, "--rig", r.name, "--credentials", r.credentials).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dir, facetrack := r.public()
	files, err := testmodels.Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "facetrack.yaml")
	text := fmt.Sprintf("rig: %s\ncameras: [{name: cam0, source: \"synthetic:faces=1,fps=30\"}]\nipc: {group: \"%d\"}\ndetect: {model: %q}\nlandmarks: {model: %q}\nlsl: {loopback_only: true}\n",
		r.name, sharedGroup, files.Detector, files.Landmarks)
	for path, content := range map[string]string{config: text, files.Detector: read(t, files.Detector), files.Landmarks: read(t, files.Landmarks)} {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil { //nolint:gosec // for other users
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o644); err != nil { //nolint:gosec // likewise
			t.Fatal(err)
		}
	}
	var running []*exec.Cmd
	for i, name := range stage.Names {
		uid := firstUser + i
		cmd := exec.Command(facetrack, "stage", name, "--nats", r.url, "--config", config, "--log-level", "warn", //nolint:gosec // the program under test
			"--credentials", r.hand(dir, uid, name+".nk", "ca.pem"))
		cmd.Dir, cmd.Env = "/", []string{"HOME=/nonexistent"}
		cmd.Stdout, cmd.Stderr = r.stderr, r.stderr
		user := &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)} //nolint:gosec // small
		if name == stage.Capture || slices.Contains(stage.Readers, name) {
			user.Groups = []uint32{sharedGroup}
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: user}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running = append(running, cmd)
		t.Cleanup(func() { _ = cmd.Process.Kill() })
	}
	r.eventually("frames come to the last stage", func() bool {
		all := r.status()
		for _, name := range []string{stage.Detect, stage.Landmarks} {
			if c := all[name].Cameras["cam0"]; c.Link == nil || c.Link.Transport != "shm" {
				return false
			}
		}
		return all[stage.LSLOut].Cameras["cam0"].Frames > 20
	})
	if all := r.status(); all[stage.Tracker].Cameras["cam0"].Faces == 0 {
		t.Error("nobody is tracked")
	}
	if g := r.stranger(nobody, r.target()); len(g.Opened) > 0 || len(g.Heard) > 0 {
		t.Errorf("a stranger opened %q and heard %q", g.Opened, g.Heard)
	}
	if g := r.stranger(firstUser+4, r.target()); strings.Contains(strings.Join(g.Opened, " "), "/dev/shm") {
		t.Errorf("lsl-out's user opened %q", g.Opened)
	}
	for _, cmd := range running {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		end := time.AfterFunc(deadline, func() { _ = cmd.Process.Kill() })
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v\n%s", cmd.Args[2], err, r.stderr)
		}
		end.Stop()
	}
	r.refusals()
	if t.Failed() {
		t.Log(r.stderr)
	}
}
