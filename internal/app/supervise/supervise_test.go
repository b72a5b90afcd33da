package supervise

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

const roleEnv = "FACETRACK_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		os.Exit(play(role))
	}
	os.Exit(m.Run())
}

// play is what a child of these tests does.
func play(role string) int {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	if name := os.Getenv("RESTARTS_INTO"); name != "" {
		if err := os.WriteFile(name, []byte(os.Getenv("TEST_RESTARTS")), 0o600); err != nil {
			return 1
		}
	}
	if role == "parent" {
		child := Start(Command{
			Name: "orphan", Path: os.Args[0], Args: []string{"orphan"}, Env: []string{roleEnv + "=run"}, Stderr: os.Stderr,
		}, slog.New(slog.DiscardHandler))
		<-child.ready
		pid, _ := child.PID()
		fmt.Println(pid)
		select {}
	}
	if role == "permanent" {
		if _, err := daemon.SdNotify(false, "STATUS=no such camera"); err != nil {
			return 1
		}
		return ExitConfig
	}
	if _, err := daemon.SdNotify(false, daemon.SdNotifyReady); err != nil {
		return 1
	}
	switch role {
	case "finish":
		if _, err := daemon.SdNotify(false, Note("the last words")+"\n"+Done); err != nil {
			return 1
		}
		return 0
	case "deaf":
		select {}
	}
	<-term
	return 0
}

func start(t *testing.T, role string) *Child {
	t.Helper()
	c := Start(Command{
		Name: role, Path: os.Args[0], Args: []string{role}, Env: []string{roleEnv + "=" + role}, Stderr: io.Discard,
	}, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { c.Stop(time.Minute) })
	return c
}

func waitDone(t *testing.T, c *Child) {
	t.Helper()
	select {
	case <-c.Done():
	case <-time.After(30 * time.Second):
		t.Fatal("the child still runs")
	}
}

func TestKilledChildIsStartedAgain(t *testing.T) {
	c := start(t, "run")
	if err := c.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	first, _ := c.PID()
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		pid, restarts := c.PID()
		return pid != 0 && pid != first && restarts == 1
	})
	c.Stop(time.Minute)
	if pid, _ := c.PID(); pid != 0 || c.Err() != nil {
		t.Errorf("after Stop: pid %d, error %v", pid, c.Err())
	}
}

// A child knows how often it was started again.
func TestChildIsToldOfItsRestarts(t *testing.T) {
	told := filepath.Join(t.TempDir(), "restarts")
	c := Start(Command{
		Name: "run", Path: os.Args[0], Args: []string{"run"}, Env: []string{roleEnv + "=run", "RESTARTS_INTO=" + told}, Stderr: io.Discard,
		Restarts: "TEST_RESTARTS",
	}, slog.New(slog.DiscardHandler))
	defer c.Stop(time.Minute)
	for _, want := range []string{"0", "1"} {
		waitFor(t, func() bool {
			text, err := os.ReadFile(told)
			return err == nil && string(text) == want
		})
		if err := c.WaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
		pid, _ := c.PID()
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
}

// A child that somebody ends politely is started again as well: it did not say that its work was done.
func TestTerminatedChildIsStartedAgain(t *testing.T) {
	c := start(t, "run")
	if err := c.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	first, _ := c.PID()
	if err := syscall.Kill(first, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		pid, restarts := c.PID()
		return pid != 0 && pid != first && restarts == 1
	})
}

func TestPermanentFailureAndFinishAreFinal(t *testing.T) {
	permanent := start(t, "permanent")
	waitDone(t, permanent)
	if err := permanent.WaitReady(t.Context()); !errors.Is(err, ErrPermanent) || !errors.Is(permanent.Err(), ErrPermanent) {
		t.Errorf("got %v and %v", err, permanent.Err())
	}
	if want := "permanent cannot run: no such camera"; permanent.Err().Error() != want {
		t.Errorf("error %q, want %q", permanent.Err(), want)
	}
	var note string
	finished := Start(Command{
		Name: "finish", Path: os.Args[0], Args: []string{"finish"}, Env: []string{roleEnv + "=finish"}, Note: func(text string) { note = text },
	}, slog.New(slog.DiscardHandler))
	waitDone(t, finished)
	if finished.Err() != nil || note != "the last words" {
		t.Errorf("error %v, note %q", finished.Err(), note)
	}
	missing := Start(Command{Name: "x", Path: "/nonexistent", Args: []string{"x"}}, slog.New(slog.DiscardHandler))
	waitDone(t, missing)
	if !errors.Is(missing.Err(), ErrPermanent) {
		t.Errorf("missing program: %v", missing.Err())
	}
}

func TestDeafChildIsKilled(t *testing.T) {
	c := start(t, "deaf")
	if err := c.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	pid, _ := c.PID()
	c.Stop(50 * time.Millisecond)
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is still there: %v", pid, err)
	}
}

func TestChildEndsWithItsParent(t *testing.T) {
	parent := exec.Command(os.Args[0]) //nolint:gosec // this test binary
	parent.Env = append(os.Environ(), roleEnv+"=parent")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	orphan, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	waitFor(t, func() bool { return !running(orphan) })
}

// running tells whether a process runs; one that waits to be collected by init does not.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func waitFor(t *testing.T, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("condition did not come true")
		}
	}
}

// A process that was ready for a while is started again at once, however often that happens; one that dies young waits longer
// each time.
func TestOnlyEarlyDeathsRaiseTheBackoff(t *testing.T) {
	c := &Child{}
	if c.wasStable() {
		t.Error("a process that never was ready counts as stable")
	}
	if c.readyAt = time.Now(); c.wasStable() {
		t.Error("a process that died right after it was ready counts as stable")
	}
	if c.readyAt = time.Now().Add(-2 * stableAfter); !c.wasStable() {
		t.Error("a process that was ready for long does not count as stable")
	}
	if c.wasStable() {
		t.Error("the process before counts for the next one")
	}
}
