package nvml_test

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"facetrack/internal/nvml"
)

func TestFindMPS(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(nvml.PipeVariable, dir)
	pipe := filepath.Join(dir, "control")
	check := func(running bool, when string) {
		t.Helper()
		if m := nvml.FindMPS(); m.Running != running || m.Pipe != pipe || m.Reason == "" {
			t.Errorf("%s: %+v", when, m)
		}
	}
	check(false, "no pipe")

	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	check(false, "a pipe without a daemon")
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	check(true, "a pipe with a reader")
	_ = reader.Close()
	check(false, "a pipe whose reader has gone")
	_ = os.Remove(pipe)

	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: pipe, Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	check(true, "a socket with a listener")
	l.SetUnlinkOnClose(false)
	_ = l.Close()
	check(false, "a socket without a listener")

	note := filepath.Join(dir, "nvidia-cuda-mps-control.pid")
	if err := os.WriteFile(note, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	check(false, "the process id of another program")
	before, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.WriteFile("/proc/self/comm", before, 0) }()
	if err := os.WriteFile("/proc/self/comm", []byte("nvidia-cuda-mps-control"), 0); err != nil {
		t.Fatal(err)
	}
	check(true, "a running daemon")
}
