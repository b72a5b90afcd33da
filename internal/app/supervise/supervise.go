// Package supervise keeps child processes alive: restart with back-off, readiness by the sd_notify protocol,
// stop in order, nothing left behind when the parent dies.
package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// ExitConfig is the exit status (EX_CONFIG of sysexits.h) of a child that would fail again in the same way:
// it is not restarted.
const ExitConfig = 78

// ErrPermanent is wrapped by the error of a child that must not be restarted.
var ErrPermanent = errors.New("cannot run")

const (
	firstBackoff = 200 * time.Millisecond
	maxBackoff   = 5 * time.Second
	stableAfter  = time.Second // ready for so long: its end is not the fault of its start
	readyTimeout = 30 * time.Second
)

// Command is how a child is started.
type Command struct {
	Name   string
	Path   string
	Args   []string // with argv[0]
	Env    []string // added to the parent's
	Stderr io.Writer
	Note   func(text string) // gets what the child sends as Note; may be nil
	// Restarts names the variable that tells the child how often it was started again; "" for none.
	Restarts string
}

// Child is one supervised process.
type Child struct {
	cmd Command
	log *slog.Logger

	mu       sync.Mutex
	process  *os.Process // nil when none runs
	restarts int
	complete bool // the child said that its work is done
	stopping bool
	err      error
	status   string // what the child last said with STATUS=
	stop     chan struct{}
	readyAt  time.Time     // when the process that runs was ready; zero before
	ready    chan struct{} // closed when the child was ready for the first time
	done     chan struct{} // closed when the child runs no more and will not be restarted
	once     sync.Once
}

// Start runs a command until it says that its work is done and exits with 0, exits with ExitConfig, or Stop is
// called. A child that ends in any other way, also with status 0 after somebody's SIGTERM, is started again.
func Start(cmd Command, log *slog.Logger) *Child {
	c := &Child{
		cmd: cmd, log: log.With("process", cmd.Name),
		stop: make(chan struct{}), ready: make(chan struct{}), done: make(chan struct{}),
	}
	go c.supervise()
	return c
}

// Name is the name in the command.
func (c *Child) Name() string { return c.cmd.Name }

// Done is closed when the child runs no more and will not be restarted.
func (c *Child) Done() <-chan struct{} { return c.done }

// Err is why the child runs no more; nil when its work is done or after Stop.
func (c *Child) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// PID is the process id, 0 when none runs now; Restarts is how often it was started again.
func (c *Child) PID() (pid, restarts int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process != nil {
		pid = c.process.Pid
	}
	return pid, c.restarts
}

// WaitReady waits until the child has said READY=1 for the first time.
func (c *Child) WaitReady(ctx context.Context) error {
	timeout := time.NewTimer(readyTimeout)
	defer timeout.Stop()
	select {
	case <-c.ready:
		return nil
	case <-c.done:
		if err := c.Err(); err != nil {
			return err
		}
		return fmt.Errorf("%s ended before it was ready", c.cmd.Name)
	case <-timeout.C:
		return fmt.Errorf("%s was not ready after %s", c.cmd.Name, readyTimeout)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Stop asks the child to end, waits for grace, then kills it. It returns when the process is gone.
func (c *Child) Stop(grace time.Duration) {
	c.mu.Lock()
	if !c.stopping {
		c.stopping = true
		close(c.stop)
	}
	c.mu.Unlock()
	c.signal(syscall.SIGTERM)
	select {
	case <-c.done:
		return
	case <-time.After(grace):
	}
	c.log.Warn("child did not end in time and is killed", "grace", grace)
	c.signal(syscall.SIGKILL)
	<-c.done
}

func (c *Child) signal(s os.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process != nil {
		_ = c.process.Signal(s) // it may have ended by itself
	}
}

func (c *Child) supervise() {
	// The kernel sends the parent-death signal when the thread that started the child ends, so this thread stays.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(c.done)
	backoff := firstBackoff
	for {
		err := c.runOnce()
		if c.finished(err) {
			return
		}
		if c.wasStable() {
			backoff = firstBackoff
		}
		c.log.Warn("process ended and is started again", "reason", err, "status", c.lastStatus(), "after", backoff)
		select {
		case <-c.stop:
			return
		case <-time.After(backoff):
		}
		backoff = min(2*backoff, maxBackoff)
		c.mu.Lock()
		c.restarts++
		c.mu.Unlock()
	}
}

// finished decides whether the child's end is final, and why.
func (c *Child) finished(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopping || err == nil && c.complete {
		return true
	}
	if err == nil {
		return false
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == ExitConfig || !errors.As(err, &exit) {
		reason := c.status
		if reason == "" {
			reason = err.Error()
		}
		c.err = fmt.Errorf("%s %w: %s", c.cmd.Name, ErrPermanent, reason)
		return true
	}
	return false
}

func (c *Child) runOnce() error {
	notify, err := listenNotify()
	if err != nil {
		return err
	}
	defer func() { _ = notify.Close() }()
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		notify.wait(c.hear)
	}()
	cmd := exec.Command(c.cmd.Path) //nolint:gosec // the program's own executable
	cmd.Args = c.cmd.Args
	_, restarts := c.PID()
	cmd.Env = append(append(os.Environ(), c.cmd.Env...), "NOTIFY_SOCKET="+notify.name)
	if c.cmd.Restarts != "" {
		cmd.Env = append(cmd.Env, c.cmd.Restarts+"="+strconv.Itoa(restarts))
	}
	cmd.Stderr = c.cmd.Stderr
	// Its own process group: Ctrl-C in the terminal reaches the parent alone, which then stops its children in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := c.begin(cmd); err != nil {
		return err
	}
	err = cmd.Wait()
	notify.end()
	<-drained
	c.mu.Lock()
	c.process = nil
	c.mu.Unlock()
	return err
}

// wasStable tells whether the process that ended had been ready for a while, and forgets it.
func (c *Child) wasStable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	since := c.readyAt
	c.readyAt = time.Time{}
	return !since.IsZero() && time.Since(since) > stableAfter
}

// lastStatus is what the child said about its end, and forgets it.
func (c *Child) lastStatus() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.status
	c.status = ""
	return s
}

// Variables of the sd_notify protocol that only this package and its children know.
const (
	doneVariable = "X_FACETRACK_DONE" // =1: the child's work is done
	noteVariable = "X_FACETRACK_NOTE" // =text: for Command.Note
)

// Done is what a child sends when its work is done, and Note sends text to Command.Note.
const Done = doneVariable + "=1"

// Note returns what a child sends so that its parent's Command.Note gets text.
func Note(text string) string { return noteVariable + "=" + text }

// hear takes one variable that the child has sent.
func (c *Child) hear(name, value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch name {
	case "READY":
		c.readyAt = time.Now()
		c.once.Do(func() { close(c.ready) })
	case "STATUS":
		c.status = value
	case doneVariable:
		c.complete = true
	case noteVariable:
		if c.cmd.Note != nil {
			c.cmd.Note(value)
		}
	}
}

var errStopped = errors.New("stopped")

func (c *Child) begin(cmd *exec.Cmd) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopping {
		return errStopped
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", c.cmd.Name, err)
	}
	c.process = cmd.Process
	return nil
}
