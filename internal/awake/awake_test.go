package awake

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	if os.Getenv("AWAKE_CHILD") != "" {
		if err := Run(os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// spinning counts the threads of a process in the class SCHED_IDLE (5), by what the kernel says of them.
func spinning(t *testing.T, pid int) (n int) {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range threads {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		if fields := strings.Fields(rest); len(fields) > 38 && fields[38] == "5" {
			n++
		}
	}
	return n
}

// Every CPU gets its thread, of the idle class and no other, and the process ends with its starter's pipe.
func TestEveryCPUStaysAwake(t *testing.T) {
	if err := idleWork(); err != nil {
		t.Skipf("SKIPPED: this machine lets no thread become idle work: %v", err)
	}
	t.Setenv("AWAKE_CHILD", "1")
	k, err := Start(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	want := cpus(t)
	for end := time.Now().Add(time.Minute); spinning(t, k.cmd.Process.Pid) != want; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d threads spin on %d CPUs", spinning(t, k.cmd.Process.Pid), want)
		}
	}
	for range 2 {
		if err := k.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
}

// idleWork tries what spin needs, on a thread that ends with it.
func idleWork() error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		done <- unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0)
	}()
	return <-done
}

// cpus counts the CPUs of this process by what the kernel says.
func cpus(t *testing.T) (n int) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "Cpus_allowed:")
	mask, _, _ := strings.Cut(rest, "\n")
	for _, c := range strings.TrimSpace(mask) {
		if digit := strings.IndexRune("0123456789abcdef", c); digit > 0 {
			for ; digit > 0; digit &= digit - 1 {
				n++
			}
		}
	}
	return n
}

func TestNothingToKeep(t *testing.T) {
	var none *Keeper
	if err := none.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Start(filepath.Join(t.TempDir(), "nothing")); err == nil {
		t.Error("a program that is not there was started")
	}
}
