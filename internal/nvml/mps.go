package nvml

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// PipeVariable is the environment variable with the folder of the MPS daemon's pipes.
const PipeVariable = "CUDA_MPS_PIPE_DIRECTORY"

// MPS is the state of NVIDIA's Multi-Process Service as programs started with this environment meet it.
type MPS struct {
	Running bool
	Pipe    string // the pipe that tells it
	Reason  string // how it is known
}

// FindMPS asks whether an MPS daemon is where CUDA would look for it: in the folder $CUDA_MPS_PIPE_DIRECTORY, else in
// /tmp/nvidia-mps. Its process id stands there in a file. Where that names no process, as in a container of its own, the
// daemon's pipe tells: one can be opened for writing without waiting, and a socket be connected to, only while somebody
// is at the other end. Nothing is written.
func FindMPS() MPS {
	dir := os.Getenv(PipeVariable)
	if dir == "" {
		dir = "/tmp/nvidia-mps"
	}
	m := MPS{Pipe: filepath.Join(dir, "control")}
	if pid := daemon(dir); pid != "" {
		m.Running, m.Reason = true, "nvidia-cuda-mps-control is process "+pid
		return m
	}
	err := knock(m.Pipe)
	switch {
	case err == nil:
		m.Running, m.Reason = true, "a daemon listens on "+m.Pipe
	case errors.Is(err, unix.ENXIO), errors.Is(err, unix.ECONNREFUSED):
		m.Reason = m.Pipe + " was left behind: no daemon listens on it"
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		m.Reason = "there is no " + m.Pipe
	case errors.Is(err, unix.EACCES): // the daemon of another user cannot be used, running or not
		m.Reason = m.Pipe + " is another user's"
	default:
		m.Reason = m.Pipe + ": " + err.Error()
	}
	return m
}

// daemon is the process id of the daemon, "" when none is known.
func daemon(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, "nvidia-cuda-mps-control.pid")) //nolint:gosec // the operator names the folder
	if err != nil {
		return ""
	}
	pid := strings.TrimSpace(string(text))
	if _, err := strconv.Atoi(pid); err != nil {
		return ""
	}
	name, err := os.ReadFile(filepath.Join("/proc", pid, "comm")) //nolint:gosec // a number
	if err != nil || !strings.HasPrefix(string(name), "nvidia-cuda-mps") {
		return ""
	}
	return pid
}

func knock(path string) error {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFSOCK {
		return connect(path)
	}
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func connect(path string) error {
	var err error
	for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_SEQPACKET, unix.SOCK_DGRAM} {
		var fd int
		if fd, err = unix.Socket(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err != nil {
			return err
		}
		err = unix.Connect(fd, &unix.SockaddrUnix{Name: path})
		_ = unix.Close(fd)
		if !errors.Is(err, unix.EPROTOTYPE) { // a socket of another kind
			return err
		}
	}
	return err
}
