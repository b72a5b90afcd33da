//go:build e2e

package e2e

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// strangerVariable makes this binary a process that tries to get at a rig and tells how far it came.
const strangerVariable = "FACETRACK_E2E_STRANGER"

// target is what a stranger knows: everything but secrets.
type target struct {
	URL, Rig, CA string
	Files        []string // of the rig: rings, keys
	PIDs         []int
}

// got is what it came to, by name. A path in it was opened, an address in it let it in.
type got struct {
	UID    int
	Opened []string
	Heard  []string
}

func beStranger() {
	var about target
	if err := json.Unmarshal([]byte(os.Getenv(strangerVariable)), &about); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	result := got{UID: os.Geteuid()}
	for _, path := range about.Files {
		for _, how := range []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR} {
			if opens(path, how) {
				result.Opened = append(result.Opened, path)
				break
			}
		}
	}
	for _, pid := range about.PIDs {
		process := fmt.Sprintf("/proc/%d/", pid)
		paths := []string{process + "mem", process + "environ", process + "maps"}
		for _, folder := range []string{"map_files", "fd"} {
			inside, _ := filepath.Glob(process + folder + "/*")
			paths = append(paths, inside...)
		}
		for _, path := range paths {
			if opens(path, os.O_RDONLY) {
				result.Opened = append(result.Opened, path)
			}
		}
	}
	result.Heard = overhear(about)
	_ = json.NewEncoder(os.Stdout).Encode(result)
}

func opens(path string, how int) bool {
	f, err := os.OpenFile(path, how|syscall.O_NONBLOCK, 0)
	if err == nil {
		_ = f.Close()
	}
	return err == nil
}

// overhear connects in every way that needs no key, and listens to everything.
func overhear(about target) (heard []string) {
	for name, options := range map[string][]nats.Option{
		"as it comes":            nil,
		"whatever the server is": {nats.Secure(&tls.Config{InsecureSkipVerify: true})},                            //nolint:gosec // a stranger does not care
		"by the name of a role":  {nats.Secure(&tls.Config{InsecureSkipVerify: true}), nats.UserInfo("up", "up")}, //nolint:gosec // likewise
	} {
		nc, err := nats.Connect(about.URL, options...)
		if err != nil {
			continue
		}
		heard = append(heard, name)
		if sub, err := nc.SubscribeSync("face.>"); err == nil {
			if m, err := sub.NextMsg(2 * time.Second); err == nil {
				heard = append(heard, m.Subject)
			}
		}
		if m, err := nc.Request(fmt.Sprintf("face.%s.cam0.ring", about.Rig), []byte(attachRequest), time.Second); err == nil && strings.Contains(string(m.Data), "control_path") {
			heard = append(heard, "where the ring is")
		}
		nc.Close()
	}
	return heard
}

const attachRequest = `{"op":"attach","identity":"detect","session":"none","host":"x","pid":1,"accepts":["shm"]}`

// stranger runs this binary as another user.
func (r *rig) stranger(uid uint32, about target) got {
	r.t.Helper()
	text, err := json.Marshal(about)
	if err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.CommandContext(r.t.Context(), "/proc/self/exe") // the file's folder is private
	cmd.Env = []string{strangerVariable + "=" + string(text)}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("stranger: %v", err)
	}
	var g got
	if err := json.Unmarshal(out, &g); err != nil {
		r.t.Fatalf("stranger: %v: %s", err, out)
	}
	if g.UID != int(uid) {
		r.t.Fatalf("the stranger is user %d", g.UID)
	}
	return g
}

// target is all of a running rig that a stranger may know.
func (r *rig) target() target {
	r.t.Helper()
	about := target{URL: r.url, Rig: r.name}
	var err error
	if about.Files, err = filepath.Glob("/dev/shm/facetrack-" + r.name + "*"); err != nil || len(about.Files) != 2 {
		r.t.Fatalf("files of the ring: %v, %v", about.Files, err)
	}
	keys, err := filepath.Glob(filepath.Join(r.credentials, "*"))
	if err != nil {
		r.t.Fatal(err)
	}
	about.Files = append(about.Files, keys...)
	for _, s := range r.status() {
		about.PIDs = append(about.PIDs, s.PID)
	}
	return about
}

const nobody = 65534

// Another user of the machine, who knows addresses, names and process ids but no key: nothing of the bus, no ring, no key, no memory.
// The same process as the rig's own user opens the files, and on a rig without credentials it hears all, so it does look.
func TestStrangerOnTheSameMachine(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: needs root, to run a process as another user")
	}
	r := prepare(t).withCredentials()
	r.up("--config", r.config(""), "--source", "synthetic:faces=1,fps=30")
	r.eventually("frames flow", func() bool { return r.status()["tracker"].Cameras["cam0"].Frames > 10 })
	about := r.target()
	if len(about.PIDs) != 5 || len(about.Files) < 10 {
		t.Fatalf("%+v", about)
	}
	if g := r.stranger(nobody, about); len(g.Opened) > 0 || len(g.Heard) > 0 {
		t.Errorf("a stranger opened %q and heard %q", g.Opened, g.Heard)
	}
	if g := r.stranger(0, about); len(g.Opened) < len(about.Files) || len(g.Heard) > 0 {
		t.Errorf("the rig's user without a key opened %d of %d files and heard %q", len(g.Opened), len(about.Files), g.Heard)
	}
	r.interrupt()
	r.mustEnd()
	r.refusals("authentication error", "TLS handshake error")

	open := prepare(t)
	open.up("--config", open.config(""), "--source", "synthetic:faces=1,fps=30")
	open.eventually("frames flow", func() bool { return open.status()["tracker"].Cameras["cam0"].Frames > 10 })
	if g := open.stranger(nobody, open.target()); !strings.Contains(strings.Join(g.Heard, " "), "where the ring is") || len(g.Opened) > 0 {
		t.Errorf("without credentials a stranger heard %q and opened %q", g.Heard, g.Opened)
	}
	open.interrupt()
	open.mustEnd()
}
