package ipcbench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// patience is how long another process may take for anything it is asked.
const patience = 2 * time.Minute

// child is another process that answers lines of JSON with lines of JSON.
type child struct {
	what  string
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan []byte // closed at the end of the child's output
	ended chan struct{}
	said  tail
	once  sync.Once
}

func startChild(what string, command []string) (*child, error) {
	c := &child{
		what: what, cmd: exec.Command(command[0], command[1:]...), //nolint:gosec // this program, or the operator's Python
		lines: make(chan []byte, 1), ended: make(chan struct{}),
	}
	c.cmd.Stderr, c.cmd.WaitDelay = &c.said, time.Second
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	go c.listen(out)
	return c, nil
}

func (c *child) listen(out io.Reader) {
	defer close(c.ended)
	for r := bufio.NewReader(out); ; {
		line, err := r.ReadBytes('\n')
		if err != nil {
			break
		}
		c.lines <- line
	}
	close(c.lines)
	_ = c.cmd.Wait() // how it ended is in ProcessState
}

// ask sends a line and waits for the answer.
func (c *child) ask(ctx context.Context, question, answer any) error {
	line, err := json.Marshal(question)
	if err != nil {
		return err
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		return c.died()
	}
	return c.hear(ctx, answer)
}

// hear waits for the next line.
func (c *child) hear(ctx context.Context, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case line, alive := <-c.lines:
		if !alive {
			return c.died()
		}
		if err := json.Unmarshal(line, answer); err != nil {
			return fmt.Errorf("%s says %.200q: %w", c.what, line, err)
		}
		return nil
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return fmt.Errorf("%s did not answer within %s", c.what, patience)
		}
		return ctx.Err()
	}
}

// order is ask for a process of this program.
func (c *child) order(ctx context.Context, o order) (a answer, err error) {
	if err := c.ask(ctx, o, &a); err != nil {
		return a, err
	}
	if a.Error != "" {
		return a, fmt.Errorf("%s: %s: %s", c.what, o.Op, a.Error)
	}
	return a, nil
}

func (c *child) died() error {
	select {
	case <-c.ended:
		return fmt.Errorf("%s ended (%s): %s", c.what, c.cmd.ProcessState, c.said.text())
	case <-time.After(time.Second):
		return fmt.Errorf("%s does not listen any more: %s", c.what, c.said.text())
	}
}

// Close ends the child's input, which ends the child; one that stays is killed.
func (c *child) Close() error {
	if c == nil {
		return nil
	}
	c.once.Do(func() {
		_ = c.in.Close()
		go func() { // so that it can end while it talks
			for range c.lines {
				continue
			}
		}()
		select {
		case <-c.ended:
		case <-time.After(5 * time.Second):
			_ = c.cmd.Process.Kill()
		}
	})
	return nil
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
	t.last = t.last[max(0, len(t.last)-1024):]
	return len(p), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(strings.Fields(string(t.last)), " ")
}
