//go:build cuda

package gpu

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// child is a process under test.
type child struct {
	t       *testing.T
	name    string
	stuck   bool // it has ended itself, as its ring demanded
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers chan answer // closed when the process has ended
}

// limit is how long a child may take to answer.
const limit = 2 * time.Minute

// spawn starts a child that has a CUDA context and the kernels; pipes are its files from firstPipe on.
func spawn(t *testing.T, name, faults string, pipes ...*os.File) *child {
	t.Helper()
	c := &child{t: t, name: name, cmd: exec.Command(os.Args[0]), answers: make(chan answer, 1<<14)}
	gpu := driver(t)
	c.cmd.Env = append(append(os.Environ(), childVariable+"=1", "GOMAXPROCS=4", "GORACE=atexit_sleep_ms=0"), gpu...)
	if faults != "" {
		c.cmd.Env = append(c.cmd.Env, "FACETRACK_FAULTS="+faults)
	}
	c.cmd.Stderr, c.cmd.ExtraFiles = os.Stderr, pipes
	in, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.in = in
	go func() {
		defer close(c.answers)
		lines := bufio.NewScanner(out)
		for lines.Buffer(nil, 1<<20); lines.Scan(); {
			var a answer
			if json.Unmarshal(lines.Bytes(), &a) != nil {
				return // cut off by a kill
			}
			c.answers <- a
		}
	}()
	t.Cleanup(c.end)
	return c
}

// ready waits until the child has its context.
func (c *child) ready() *child {
	c.t.Helper()
	c.answer()
	return c
}

// answer waits for the next answer, which may not be an error.
func (c *child) answer() answer {
	c.t.Helper()
	select {
	case a, ok := <-c.answers:
		if !ok {
			c.t.Fatalf("%s ended", c.name)
		}
		if a.Err != "" {
			c.t.Fatalf("%s: %s", c.name, a.Err)
		}
		return a
	case <-time.After(limit):
		c.t.Fatalf("%s does not answer", c.name)
	}
	return answer{}
}

// newest returns the last of the answers that are there by now; false when there is none.
func (c *child) newest() (last answer, ok bool) {
	c.t.Helper()
	for {
		select {
		case a, open := <-c.answers:
			if !open && c.stuck {
				return last, ok
			}
			if !open {
				c.t.Fatalf("%s ended", c.name)
			}
			if a.Err != "" {
				c.t.Fatalf("%s: %s", c.name, a.Err)
			}
			last, ok, c.stuck = a, true, c.stuck || a.Stuck != ""
		default:
			return last, ok
		}
	}
}

func (c *child) send(o order) {
	c.t.Helper()
	line, err := json.Marshal(o)
	if err == nil {
		_, err = c.in.Write(append(line, '\n'))
	}
	if err != nil {
		c.t.Fatalf("%s: %v", c.name, err)
	}
}

func (c *child) ask(o order) answer {
	c.t.Helper()
	c.send(o)
	return c.answer()
}

func (c *child) signal(s syscall.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		c.t.Fatalf("%s: signal %v: %v", c.name, s, err)
	}
}

// end lets the process finish its GPU work first: under MPS its death in the middle would harm the processes of other tests.
func (c *child) end() {
	_ = c.in.Close()
	patience := time.After(10 * time.Second)
	for open := true; open; {
		select {
		case _, open = <-c.answers:
		case <-patience:
			open = false
		}
	}
	c.kill()
}

// kill ends the process as kill -9 does and waits for its end.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	for range c.answers { // until its output has ended
		continue
	}
	_ = c.cmd.Wait()
	_ = c.in.Close()
}
