//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"facetrack/gpuring"
)

// namePrefix begins the names of these tests' rigs; the process id follows.
const namePrefix = "e2e-"

// sweep removes what runs of these tests that were killed have left in shared memory.
func sweep() {
	const prefix = "facetrack-" + namePrefix
	left, _ := filepath.Glob(filepath.Join(gpuring.DefaultDir, prefix+"*"))
	for _, path := range left {
		id, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), prefix), "-")
		if pid, err := strconv.Atoi(id); err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.Remove(path)
		}
	}
}

// noLeftovers checks that nothing of the rig is left in shared memory.
func (r *rig) noLeftovers() {
	left, err := filepath.Glob("/dev/shm/*" + r.name + "*")
	if err != nil || len(left) > 0 {
		r.t.Errorf("left in /dev/shm: %v %v", left, err)
	}
}

func TestSweepSparesTheLiving(t *testing.T) {
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	for pid, want := range map[int]bool{ended.Process.Pid: false, os.Getpid(): true} {
		path := filepath.Join(gpuring.DefaultDir, fmt.Sprintf("facetrack-%s%d-sweep-cam0.ctl", namePrefix, pid))
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Remove(path) })
		sweep()
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %v", path, err, want)
		}
	}
}
