//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"facetrack/internal/stage"
)

// The five programs, started one by one as a service manager does, against a server that already runs. One of them
// sees another /dev/shm, as on another machine: its pixels come over NATS, and it says why.
func TestProgramsOneByOne(t *testing.T) {
	t.Parallel()
	r := prepare(t)
	s := startServer(t, freePort(t), r.path("store"))
	defer s.Shutdown()
	r.url, r.exited = s.ClientURL(), nil // no facetrack up here
	camera := "cameras: [{name: cam0, source: \"synthetic:faces=1,fps=30\"}]\n"
	here := r.write("here.yaml", read(t, r.config(camera+"rig: "+r.name+"\n")))
	elsewhere := r.write("elsewhere.yaml", read(t, r.config(camera+fmt.Sprintf("rig: %s\nring: {dir: %q}\n", r.name, t.TempDir()))))
	var programs []*exec.Cmd
	for _, name := range []string{stage.LSLOut, stage.Tracker, stage.Landmarks, stage.Detect, stage.Capture} {
		config := here
		if name == stage.Landmarks {
			config = elsewhere
		}
		cmd := exec.Command(filepath.Join(filepath.Dir(program), name), "--nats", r.url, "--config", config, "--log-level", "warn") //nolint:gosec // the programs under test
		cmd.Stdout, cmd.Stderr = r.stderr, r.stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		programs = append(programs, cmd)
		t.Cleanup(func() { _ = cmd.Process.Kill() })
	}
	r.eventually("frames come to the last stage", func() bool { return r.status()[stage.LSLOut].Cameras["cam0"].Frames > 20 })
	all := r.status()
	if link := all[stage.Detect].Cameras["cam0"].Link; link == nil || link.Transport != processLink {
		t.Errorf("detect reads by %+v, want %s", link, processLink)
	}
	link := all[stage.Landmarks].Cameras["cam0"].Link
	if link == nil || link.Transport != "copy" || !strings.Contains(link.Reason, "shm: ") {
		t.Errorf("landmarks reads by %+v, want copy and why not shm", link)
	} else {
		t.Logf("landmarks: %s (%s)", link.Transport, link.Reason)
	}
	if all[stage.Tracker].Cameras["cam0"].Faces == 0 {
		t.Error("nobody is tracked")
	}
	out, err := command(t, "config", "put", here, "--nats", r.url, "--rig", r.name).CombinedOutput()
	if err == nil { // of another file
		t.Error("landmarks takes another folder for the rings")
	}
	oneClearLine(t, string(out), "refused by landmarks: not while the rig runs: ring.dir needs a restart", "it is deleted again")
	for i := len(programs) - 1; i >= 0; i-- { // capture first
		if err := programs[i].Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := programs[i].Wait(); err != nil {
			t.Errorf("%s: %v\n%s", filepath.Base(programs[i].Path), err, r.stderr)
		}
	}
}

// Programs take what is stored for their rig, not their file, and follow its changes.
func TestProgramsTakeWhatIsStored(t *testing.T) {
	t.Parallel()
	r := prepare(t)
	s := startServer(t, freePort(t), r.path("store"))
	t.Cleanup(s.Shutdown)                // after the programs: what they cannot store they leave behind
	r.url, r.exited = s.ClientURL(), nil // no facetrack up here
	camera := "cameras: [{name: cam0, source: \"synthetic:faces=1,fps=30\"}]\nrig: " + r.name + "\n"
	stored := r.write("stored.yaml", read(t, r.config(camera+"tracker: {keep_raw: true}\n")))
	own := r.write("own.yaml", read(t, r.config(camera)))
	config := func(want string, args ...string) {
		t.Helper()
		out, err := command(t, append(append([]string{"config"}, args...), "--nats", r.url, "--rig", r.name)...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("config %v: %v\n%s\nwant %q", args, err, out, want)
		}
	}
	config("revision 1 is in effect in 0 process(es)", "put", stored)
	for _, name := range []string{stage.Tracker, stage.Capture} {
		cmd := exec.Command(filepath.Join(filepath.Dir(program), name), "--nats", r.url, "--config", own, "--log-level", "info") //nolint:gosec // the programs under test
		cmd.Stdout, cmd.Stderr = r.stderr, r.stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			_ = cmd.Wait()
		})
	}
	r.eventually("both run with what is stored", func() bool {
		all := r.status()
		return all[stage.Tracker].Config.Revision == 1 && all[stage.Capture].Config.Revision == 1
	})
	if !strings.Contains(r.stderr.String(), "the configuration that is stored for the rig counts, not the file") {
		t.Errorf("nobody is told:\n%s", r.stderr)
	}
	config("tracker.keep_raw: true\n", "get", "tracker.keep_raw")
	config("revision 2 is in effect in 2 process(es)", "set", "tracker.memory_s=5")
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
