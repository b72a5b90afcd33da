//go:build cuda

package gpu

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

// What these tests make in shared memory: folders, and the rings of the soak's rigs. The process id follows.
const (
	folderPrefix = "facetrack-gpu-test-"
	soakPrefix   = "facetrack-soak-"
)

// sweep removes what processes that were killed have left of a kind.
func sweep(prefix string) {
	left, _ := filepath.Glob(filepath.Join(gpuring.DefaultDir, prefix+"*"))
	for _, path := range left {
		id, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), prefix), "-")
		if pid, err := strconv.Atoi(id); err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(path)
		}
	}
}

func TestSweepSparesTheLiving(t *testing.T) {
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	const kind = "facetrack-sweep-test-"
	dead := filepath.Join(gpuring.DefaultDir, fmt.Sprintf("%s%d-1", kind, ended.Process.Pid))
	living := filepath.Join(gpuring.DefaultDir, fmt.Sprintf("%s%d-1", kind, os.Getpid()))
	foreign := filepath.Join(gpuring.DefaultDir, fmt.Sprintf("%sof-%d", kind, os.Getpid()))
	for _, path := range []string{dead, living, foreign} {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(path) })
	}
	sweep(kind)
	for path, want := range map[string]bool{dead: false, living: true, foreign: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %v", path, err, want)
		}
	}
}
