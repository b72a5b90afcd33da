//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// visible is how long anything may take to show.
const visible = 20 * time.Second

// terminal is a pseudo-terminal with a program in it, and what it shows.
type terminal struct {
	t      *testing.T
	cmd    *exec.Cmd
	master *os.File
	before unix.Termios

	mu       sync.Mutex
	screen   screen
	printed  strings.Builder
	ended    chan struct{} // nothing more is printed
	exited   chan struct{}
	slave    *os.File
	closings sync.Once
}

// inTerminal runs the program under test.
func inTerminal(t *testing.T, kind string, columns, rows uint16, args ...string) *terminal {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t, master: master, slave: slave, ended: make(chan struct{}), exited: make(chan struct{})}
	x.resize(columns, rows)
	x.before = x.modes()
	x.cmd = exec.Command(program, args...) //nolint:gosec // the program under test
	x.cmd.Env = append(os.Environ(), "TERM="+kind)
	x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = slave, slave, slave
	x.cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	if err := x.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go x.read()
	go func() {
		defer close(x.exited)
		_ = x.cmd.Wait() // ProcessState tells more
	}()
	t.Cleanup(func() {
		_ = x.cmd.Process.Kill()
		x.hangUp()
		_ = slave.Close()
	})
	return x
}

func (x *terminal) hangUp() { x.closings.Do(func() { _ = x.master.Close() }) }

func (x *terminal) modes() unix.Termios {
	x.t.Helper()
	modes, err := unix.IoctlGetTermios(int(x.slave.Fd()), unix.TCGETS)
	if err != nil {
		x.t.Fatal(err)
	}
	return *modes
}

func (x *terminal) resize(columns, rows uint16) {
	x.t.Helper()
	x.mu.Lock()
	x.screen.resize(int(columns), int(rows))
	x.mu.Unlock()
	if err := pty.Setsize(x.master, &pty.Winsize{Cols: columns, Rows: rows}); err != nil {
		x.t.Fatal(err)
	}
}

func (x *terminal) read() {
	defer close(x.ended)
	buf := make([]byte, 1<<16)
	for {
		n, err := x.master.Read(buf)
		x.mu.Lock()
		x.printed.Write(buf[:n])
		x.screen.write(string(buf[:n]))
		x.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (x *terminal) text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.screen.String()
}

// drawn tells whether the program has taken the whole screen, as editors do, and not given it back.
func (x *terminal) drawn() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.screen.second
}

func (x *terminal) output() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.printed.String()
}

func (x *terminal) keys(s string) {
	x.t.Helper()
	if _, err := x.master.WriteString(s); err != nil {
		x.t.Fatal(err)
	}
}

// until waits for a screen with all of want.
func (x *terminal) until(want ...string) {
	x.t.Helper()
	x.shows(strings.Join(want, " … "), func(text string) bool { return holds(text, want) })
}

// shows waits for a screen that is as it is to be, and returns how long that took.
func (x *terminal) shows(what string, ok func(text string) bool) time.Duration {
	x.t.Helper()
	begin := time.Now()
	for !ok(x.text()) {
		if time.Since(begin) > visible {
			x.t.Fatalf("not on the screen: %s\n%s", what, x.text())
		}
		time.Sleep(5 * time.Millisecond)
	}
	return time.Since(begin)
}

func holds(text string, want []string) bool {
	for _, w := range want {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// exit waits for the end of the program and returns its status.
func (x *terminal) exit() int {
	x.t.Helper()
	select {
	case <-x.exited:
		return x.cmd.ProcessState.ExitCode()
	case <-time.After(visible):
		x.t.Fatalf("the program does not end:\n%s", x.text())
		return 0
	}
}

// screen understands as much of a terminal's language as the program under test speaks.
type screen struct {
	cells  [][]rune
	x, y   int
	rest   string // an unfinished sequence
	second bool   // the alternative screen is shown
}

func (s *screen) resize(columns, rows int) {
	s.cells = make([][]rune, rows)
	for y := range s.cells {
		s.cells[y] = []rune(strings.Repeat(" ", columns))
	}
}

func (s *screen) String() string {
	var b strings.Builder
	for _, line := range s.cells {
		b.WriteString(strings.TrimRight(string(line), " ") + "\n")
	}
	return b.String()
}

func (s *screen) write(text string) {
	text = s.rest + text
	for text != "" {
		n := s.one(text)
		if n == 0 {
			break
		}
		text = text[n:]
	}
	s.rest = text
}

// one takes a character or a sequence; 0 when it is not complete yet.
func (s *screen) one(text string) int {
	switch text[0] {
	case '\x1b':
		return s.escape(text)
	case '\r':
		s.x = 0
		return 1
	case '\n':
		s.y++
		return 1
	}
	if text[0] < ' ' {
		return 1
	}
	if !utf8.FullRuneInString(text) {
		return 0
	}
	r, n := utf8.DecodeRuneInString(text)
	if s.y < len(s.cells) && s.x < len(s.cells[s.y]) {
		s.cells[s.y][s.x] = r
	}
	s.x++
	return n
}

func (s *screen) escape(text string) int {
	if len(text) < 2 {
		return 0
	}
	switch text[1] {
	case '(', ')':
		return min(len(text), 3)
	case ']':
		if end := strings.IndexAny(text, "\a\\"); end > 0 {
			return end + 1
		}
		return 0
	case '[':
	default:
		return 2
	}
	end := strings.IndexFunc(text[2:], func(r rune) bool { return r >= '@' && r <= '~' })
	if end < 0 {
		return 0
	}
	s.control(text[2:2+end], text[2+end])
	return end + 3
}

func (s *screen) control(args string, what byte) {
	switch {
	case what == 'H':
		row, column, _ := strings.Cut(args, ";")
		s.y, s.x = place(row), place(column)
	case what == 'J' && len(s.cells) > 0:
		s.resize(len(s.cells[0]), len(s.cells))
	case what == 'h' && args == "?1049":
		s.second = true
	case what == 'l' && args == "?1049":
		s.second = false
	}
}

func place(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n - 1
}
