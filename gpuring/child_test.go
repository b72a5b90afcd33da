package gpuring_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"facetrack/gpuring"
)

// The tests run real processes: this binary again, as a child that obeys commands on its standard input,
// one line of JSON each, and answers on its standard output.
const childVariable = "FACETRACK_RING_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		obey()
		return
	}
	os.Exit(m.Run())
}

type command struct {
	Do         string
	Faults     *gpuring.Faults     `json:",omitempty"`
	Options    *gpuring.Options    `json:",omitempty"`
	Descriptor *gpuring.Descriptor `json:",omitempty"`
	Tickets    []gpuring.Ticket    `json:",omitempty"`
	N          int                 `json:",omitempty"`
	Dir        string              `json:",omitempty"`
	Group      string              `json:",omitempty"`
	Name       string              `json:",omitempty"`
	Sync       gpuring.Sync        `json:",omitempty"`
	Challenge  *[64]byte           `json:",omitempty"`
}

// answer is what a child reports; which fields are set depends on the command.
type answer struct {
	Err        string              `json:",omitempty"` // name of the sentinel, or the text
	Descriptor *gpuring.Descriptor `json:",omitempty"`
	Ticket     *gpuring.Ticket     `json:",omitempty"`
	Stats      *gpuring.Stats      `json:",omitempty"`
	Names      []string            `json:",omitempty"` // of files
	Torn       bool                `json:",omitempty"` // pixels are not those of the leased frame
	Tally      *tally              `json:",omitempty"`
	N          int                 `json:",omitempty"`
	View       *gpuring.View       `json:",omitempty"`
	Pixels     []byte              `json:",omitempty"`
	Text       string              `json:",omitempty"` // of the error
}

var sentinels = map[string]error{
	"stale": gpuring.ErrStale, "closed": gpuring.ErrClosed, "revoked": gpuring.ErrRevoked, "full": gpuring.ErrNoFreeSlot,
	"torn": gpuring.ErrTorn, "zeros": gpuring.ErrZeros, "canary": gpuring.ErrCanary, "released": gpuring.ErrReleased,
	"readers": gpuring.ErrReadersFull, "device": gpuring.ErrDevice, "not shared": gpuring.ErrNotShared,
}

func errName(err error) string {
	if err == nil {
		return ""
	}
	if errors.Is(err, gpuring.ErrClosed) { // whatever else came of it
		return "closed"
	}
	for name, sentinel := range sentinels {
		if errors.Is(err, sentinel) {
			return name
		}
	}
	return err.Error()
}

// errNamed is the error that errName named.
func errNamed(name string) error {
	if sentinel := sentinels[name]; name == "" || sentinel != nil {
		return sentinel
	}
	return errors.New(name)
}

// child is a process under test.
type child struct {
	t       *testing.T
	cmd     *exec.Cmd
	in      *os.File
	stopped bool          // by SIGSTOP
	read    chan struct{} // closed when the output has ended
	answers chan answer
}

func spawn(t *testing.T, faults gpuring.Faults) *child {
	t.Helper()
	return spawnAs(t, faults, nil)
}

// spawnUser is spawn as another user, who may run this binary although its folder is private.
func spawnUser(t *testing.T, uid uint32, groups ...uint32) *child {
	t.Helper()
	return spawnAs(t, gpuring.Faults{}, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid, Groups: groups}})
}

func spawnAs(t *testing.T, faults gpuring.Faults, attributes *syscall.SysProcAttr) *child {
	t.Helper()
	c := &child{t: t, cmd: exec.Command("/proc/self/exe"), answers: make(chan answer, 1<<16)}
	c.cmd.Env = append(os.Environ(), childVariable+"=1", "GOMAXPROCS=2")
	c.cmd.Stderr = os.Stderr
	c.cmd.SysProcAttr = attributes
	stdin, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.cmd.Stdin, c.in = stdin, in
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	err = c.cmd.Start()
	if attributes != nil && (errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.ENOSPC)) {
		t.Skip("SKIPPED: needs a kernel that lets a user have mounts of its own: " + err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = stdin.Close()
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(c.answers)
		lines := bufio.NewScanner(out)
		for lines.Buffer(nil, 4<<20); lines.Scan(); {
			var a answer
			if json.Unmarshal(lines.Bytes(), &a) != nil {
				return // cut off by a kill
			}
			c.answers <- a
		}
	}()
	c.read = read
	t.Cleanup(func() {
		c.kill()
		_ = c.in.Close()
	})
	c.ask(command{Do: "faults", Faults: &faults})
	return c
}

func (c *child) send(cmd command) {
	c.t.Helper()
	if err := c.write(cmd, time.Time{}); err != nil {
		c.t.Fatalf("child: %v", err)
	}
}

// offer sends a ticket unless the child's pipe is full.
func (c *child) offer(ticket gpuring.Ticket) {
	c.t.Helper()
	err := c.write(command{Tickets: []gpuring.Ticket{ticket}}, time.Now().Add(50*time.Microsecond))
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("child: %v", err)
	}
}

// write sends one line; the kernel takes a short line into a pipe whole or not at all.
func (c *child) write(cmd command, deadline time.Time) error {
	line, err := json.Marshal(cmd)
	if err != nil {
		return err
	}
	if err := c.in.SetWriteDeadline(deadline); err != nil {
		return err
	}
	_, err = c.in.Write(append(line, '\n'))
	return err
}

func (c *child) answer() answer {
	c.t.Helper()
	select {
	case a, ok := <-c.answers:
		if !ok {
			c.t.Fatal("child ended")
		}
		return a
	case <-time.After(time.Minute):
		c.t.Fatal("child does not answer")
	}
	return answer{}
}

func (c *child) ask(cmd command) answer {
	c.t.Helper()
	c.send(cmd)
	return c.answer()
}

// must asks for something that may not fail.
func (c *child) must(cmd command) answer {
	c.t.Helper()
	a := c.ask(cmd)
	if a.Err != "" {
		c.t.Fatalf("child %s: %s", cmd.Do, a.Err)
	}
	return a
}

func (c *child) signal(s syscall.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		c.t.Fatalf("signal %v: %v", s, err)
	}
}

// kill ends the process as kill -9 does, waits for its end, and returns the last frame number that it told.
func (c *child) kill() (last uint64) {
	_ = c.cmd.Process.Kill()
	for a := range c.answers {
		if a.Ticket != nil {
			last = a.Ticket.Seq
		}
	}
	<-c.read
	_ = c.cmd.Wait()
	return last
}

func (c *child) name() string { return fmt.Sprintf("process %d", c.cmd.Process.Pid) }
