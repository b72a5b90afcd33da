package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"facetrack/gpuring"
)

// question is a line to the child: what to do.
type question struct {
	Op        string              `json:"op"` // opOpen, opProve or opRead
	Ring      *gpuring.Descriptor `json:"ring,omitempty"`
	Sync      gpuring.Sync        `json:"sync,omitempty"` // in device memory; empty: in host memory
	Cell      int                 `json:"cell,omitempty"`
	Challenge []byte              `json:"challenge,omitempty"`
	Ticket    gpuring.Ticket      `json:"ticket,omitzero"`
}

const (
	opOpen  = "open"
	opProve = "prove"
	opRead  = "read"
)

// answer is the child's line.
type answer struct {
	Error    string  `json:"error,omitempty"`
	Cure     string  `json:"cure,omitempty"`
	Sync     string  `json:"sync,omitempty"`
	AttachMS float64 `json:"attach_ms,omitempty"`
	CheckUS  float64 `json:"check_us,omitempty"` // what the child took to look at the bytes, after it had them
}

// child is the second process.
type child struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers chan answer   // closed at the end of the child's output
	leave   chan struct{} // closed when nobody waits for answers any more
	ended   chan struct{} // closed when the child has ended
	once    sync.Once
	errors  tail
	timeout time.Duration
}

func (d *doctor) start() (*child, error) {
	if len(d.o.Child) == 0 {
		return nil, errors.New("no command for a second process")
	}
	c := &child{
		cmd:     exec.Command(d.o.Child[0], d.o.Child[1:]...), //nolint:gosec // this program
		answers: make(chan answer), leave: make(chan struct{}), ended: make(chan struct{}), timeout: d.o.Timeout,
	}
	c.cmd.Stderr = &c.errors
	c.cmd.WaitDelay = time.Second
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.in = in
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go c.listen(out)
	return c, nil
}

// listen passes answers on until the child's output ends, then waits for the child.
func (c *child) listen(out io.Reader) {
	defer close(c.ended)
	for dec := json.NewDecoder(out); ; {
		var a answer
		if dec.Decode(&a) != nil {
			break
		}
		select {
		case c.answers <- a:
		case <-c.leave:
		}
	}
	close(c.answers)
	_, _ = io.Copy(io.Discard, out)
	_ = c.cmd.Wait() // how it ended is in ProcessState
}

// failure is an error with the child's own advice.
type failure struct{ text, cure string }

func (f *failure) Error() string { return f.text }

// ask has the child do something. A child that does not answer in time is left to end.
func (c *child) ask(ctx context.Context, q question) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	line, err := json.Marshal(q)
	if err != nil {
		return answer{}, err
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil { // shorter than a pipe holds
		return answer{}, c.died()
	}
	select {
	case a, alive := <-c.answers:
		if !alive {
			return a, c.died()
		}
		if a.Error != "" {
			return a, &failure{a.Error, a.Cure}
		}
		return a, nil
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return answer{}, &failure{fmt.Sprintf("the second process did not answer within %s to %q and was killed", c.timeout, q.Op),
				"the driver hangs: look at dmesg for lines with NVRM, end other programs on the GPU, and restart the machine if it stays"}
		}
		return answer{}, ctx.Err()
	}
}

func (c *child) died() error {
	how := "it cannot be ended"
	if c.end(time.Second) {
		how = c.cmd.ProcessState.String()
	}
	return &failure{strings.TrimSuffix(fmt.Sprintf("the second process ended (%s): %s", how, c.errors.text()), ": "),
		"run facetrack doctor again; if it stays, send its message to the authors"}
}

// end closes the child's input, waits for grace, and then kills it. False when it is there still: a process that the
// driver holds in the kernel cannot even be killed, and is not waited for longer than a second.
func (c *child) end(grace time.Duration) bool {
	c.once.Do(func() { close(c.leave) })
	_ = c.in.Close()
	for _, patience := range []time.Duration{grace, time.Second} {
		select {
		case <-c.ended:
			return true
		case <-time.After(patience):
			_ = c.cmd.Process.Kill()
		}
	}
	return false
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	last []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, p...)
	t.last = t.last[max(0, len(t.last)-512):]
	return len(p), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(strings.Fields(string(t.last)), " ")
}
