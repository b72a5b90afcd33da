package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"facetrack/internal/app"
	"facetrack/internal/stage"
	"facetrack/internal/testmodels"
)

const (
	fileCameras = 8
	netCamera   = "net"
)

func fileCamera(i int) string { return fmt.Sprintf("cam%d", i) }

// rig is the `facetrack up` under test.
type rig struct {
	program string
	name    string
	dir     string
	url     string // of the proxy
	direct  string // of the server
	clips   []string
	cmd     *exec.Cmd
	end     chan error
	log     string     // file
	witness func() int // its process
}

// config writes the configuration of the rig.
func (r *rig) config(camera string) (path string, err error) {
	files, err := testmodels.Write(r.dir)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "detect: {model: %q}\nlandmarks: {model: %q}\nlsl: {loopback_only: true, max_slots: 1}\n", files.Detector, files.Landmarks)
	// Positions are compared with the truth of their own frame: what smoothing brings along from the frames before would blur that.
	b.WriteString("tracker: {smoothing: {enabled: false}}\nsynchrony: {enabled: false}\ncameras:\n")
	for i := range r.clips {
		fmt.Fprintf(&b, "  - {name: %s, %s}\n", fileCamera(i), r.clip(i))
	}
	fmt.Fprintf(&b, "  - {name: %s, source: %q}\n", netCamera, camera)
	path = filepath.Join(r.dir, "facetrack.yaml")
	return path, os.WriteFile(path, []byte(b.String()), 0o600)
}

// clip is what the configuration says of a camera that plays a clip.
func (r *rig) clip(i int) string { return fmt.Sprintf("source: %q, loop: true", r.clips[i]) }

func (r *rig) summaryFile() string { return filepath.Join(r.dir, "summary.json") }

func (r *rig) start(config, recording string) error {
	out, err := os.Create(r.log)
	if err != nil {
		return err
	}
	r.cmd = exec.Command(r.program, "up", "--rig", r.name, "--nats", r.url, "--config", config, "--record", recording, //nolint:gosec // the program under test
		"--summary", r.summaryFile(), "--data-dir", r.dir, "--quiet")
	r.cmd.Stdout, r.cmd.Stderr = out, out
	r.end, err = spawn(r.cmd)
	return errors.Join(err, out.Close())
}

// stop ends the rig in order.
func (r *rig) stop(within time.Duration) error {
	if err := r.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	select {
	case err := <-r.end:
		r.end <- err
		return err
	case <-time.After(within):
		return fmt.Errorf("facetrack up does not end within %s", within)
	}
}

// running tells whether the rig has not ended by itself.
func (r *rig) running() bool {
	select {
	case err := <-r.end:
		r.end <- err
		return false
	default:
		return true
	}
}

func (r *rig) kill() {
	if r.cmd != nil && r.running() {
		_ = r.cmd.Process.Kill()
		r.end <- <-r.end
	}
}

// pids are the processes of the rig by stage, as /proc has them; parentStage is facetrack up, and the witness reads beside them.
func (r *rig) pids() map[string]int {
	out := map[string]int{parentStage: r.cmd.Process.Pid}
	if pid := r.witness(); pid != 0 {
		out[witnessProcess] = pid
	}
	for _, pid := range children(r.cmd.Process.Pid) {
		if name := stageOf(pid); name != "" {
			out[name] = pid
		}
	}
	return out
}

// stageOf is what the command line of a child of facetrack up says it is.
func stageOf(pid int) string {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	args := strings.Split(string(bytes.TrimRight(line, "\x00")), "\x00")
	if len(args) > 2 && args[1] == "stage" {
		return args[2]
	}
	return ""
}

// children are the processes that a process has started and that have not been waited for.
func children(pid int) []int {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	var out []int
	for _, file := range threads {
		line, err := os.ReadFile(file) //nolint:gosec // of /proc
		if err != nil {
			continue
		}
		for _, word := range strings.Fields(string(line)) {
			if n, err := strconv.Atoi(word); err == nil {
				out = append(out, n)
			}
		}
	}
	return out
}

// signal sends a process of the rig a signal and returns its id.
func (r *rig) signal(name string, s syscall.Signal) (pid int, err error) {
	pid = r.pids()[name]
	if pid == 0 {
		return 0, fmt.Errorf("%s does not run", name)
	}
	return pid, syscall.Kill(pid, s)
}

// command runs `facetrack …` on the rig.
func (r *rig) command(args ...string) error {
	cmd := exec.Command(r.program, append(args, "--nats", r.direct, "--rig", r.name)...) //nolint:gosec // the program under test
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("facetrack %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

func (r *rig) summary() (s app.Summary, err error) {
	data, err := os.ReadFile(r.summaryFile())
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(data, &s)
}

// left is what the rig has left behind: files in shared memory and processes.
func (r *rig) left() []string {
	left, _ := filepath.Glob("/dev/shm/*" + r.name + "*")
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range lines {
		line, err := os.ReadFile(file) //nolint:gosec // of /proc
		if err == nil && strings.Contains(string(line), "\x00"+r.name+"\x00") {
			left = append(left, file+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return left
}

// pixelStages are those that have links.
var pixelStages = stage.Readers
