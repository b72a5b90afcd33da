//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"facetrack/internal/stage"
)

// topArgs is facetrack top for a rig.
func (r *rig) topArgs(more ...string) []string {
	return append([]string{"top", "--nats", r.url, "--rig", r.name}, more...)
}

// eightCameras is a rig that has begun to track.
func eightCameras(t *testing.T) *rig {
	t.Helper()
	r := prepare(t)
	args := []string{"--config", r.config("")}
	for range 8 {
		args = append(args, "--source", "synthetic:faces=1,fps=5,size=320x240")
	}
	r.up(args...)
	r.eventually("frames flow", func() bool { return r.status()["lsl-out"].Cameras["cam7"].Frames > 10 })
	return r
}

// What `facetrack top` shows in a terminal, how soon, at what cost, and how it leaves the terminal.
func TestTop(t *testing.T) {
	r := eightCameras(t)
	t.Run("follows", r.topFollows)
	t.Run("restores", r.topRestores)
	t.Run("plain", r.topPlain)
	t.Run("frugal", r.topIsFrugal)
	t.Run("waits", r.topWaits)
}

func (r *rig) topFollows(t *testing.T) {
	x := inTerminal(t, "xterm-256color", 80, 24, r.topArgs()...)
	x.until("8 cameras", "cam7      running", "detect and landmarks: shm (cuda-ipc: ")
	before := r.status()
	x.until(" "+strconv.Itoa(before[stage.Tracker].PID)+" ", "cam7      running    5.0   5.0 ")
	victim := before[stage.Landmarks].PID
	r.signal(victim, syscall.SIGKILL)
	gone, again := "landmarks (process "+strconv.Itoa(victim)+") does not answer", " instead of "+strconv.Itoa(victim)
	took := x.shows("the killed stage", func(text string) bool { return strings.Contains(text, gone) || strings.Contains(text, again) })
	t.Logf("a killed stage shows after %v", took.Round(time.Millisecond))
	if took > 2*time.Second {
		t.Errorf("a killed stage shows after %v, want 2 s at most", took)
	}
	x.until("landmarks was started again: process ", " instead of "+strconv.Itoa(victim))
	x.keys("\x1b[F") // End: the last stage
	x.until("lsl-out: process " + strconv.Itoa(before[stage.LSLOut].PID))
	x.keys("s")
	x.until("sort: dropped")
	x.keys("h")
	x.until("RUNS ON     what runs the networks")
	x.keys("h")
	x.resize(200, 50)
	if err := x.cmd.Process.Signal(syscall.SIGWINCH); err != nil { // the terminal has sent one too, perhaps before the new size was known here
		t.Fatal(err)
	}
	x.until("CAMERA                           STATE ", strings.Repeat("\n", 8)+"q quit")
	x.keys("q")
	if code := x.exit(); code != 0 {
		t.Errorf("status %d", code)
	}
}

func (r *rig) topRestores(t *testing.T) {
	send := func(s syscall.Signal) func(*terminal) {
		return func(x *terminal) {
			if err := x.cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, end := range map[string]func(*terminal){
		"q":       func(x *terminal) { x.keys("q") },
		"Ctrl-C":  func(x *terminal) { x.keys("\x03") },
		"SIGTERM": send(syscall.SIGTERM), "SIGHUP": send(syscall.SIGHUP), "SIGINT": send(syscall.SIGINT),
	} {
		t.Run(name, func(t *testing.T) {
			if name == "SIGHUP" && signal.Ignored(syscall.SIGHUP) {
				t.Skip("SKIPPED: these tests run under nohup, and so would the program")
			}
			x := inTerminal(t, "xterm-256color", 80, 24, r.topArgs()...)
			x.until("8 cameras")
			if !x.drawn() || x.modes() == x.before {
				t.Fatal("the terminal is not drawn on")
			}
			end(x)
			if code := x.exit(); code != 0 {
				t.Errorf("status %d", code)
			}
			if x.modes() != x.before {
				t.Errorf("the modes of the terminal are %+v, were %+v", x.modes(), x.before)
			}
			for begin := time.Now(); x.drawn(); time.Sleep(5 * time.Millisecond) { // what was printed last is still read
				if time.Since(begin) > visible {
					t.Fatal("the screen is not given back")
				}
			}
			if hidden, shown := strings.LastIndex(x.output(), "\x1b[?25l"), strings.LastIndex(x.output(), "\x1b[?25h"); hidden > shown {
				t.Error("the cursor stays hidden")
			}
		})
	}
	t.Run("the terminal is closed", func(t *testing.T) {
		x := inTerminal(t, "xterm-256color", 80, 24, r.topArgs()...)
		x.until("8 cameras")
		_ = x.slave.Close()
		x.hangUp()
		x.exit()
	})
}

// Without a terminal that can do more, tables are printed.
func (r *rig) topPlain(t *testing.T) {
	out, err := command(t, r.topArgs("--once")...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\n8 cameras ", "\ncam0 ", "\ncam7 ", "\nlsl-out ", "\n  detect and landmarks: shm (cuda-ipc: "} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	for name, x := range map[string]*terminal{
		"dumb": inTerminal(t, "dumb", 80, 24, r.topArgs()...), "--plain": inTerminal(t, "xterm", 80, 24, r.topArgs("--plain")...),
		"unknown terminal": inTerminal(t, "no-such-terminal", 80, 24, r.topArgs()...),
	} {
		for begin := time.Now(); strings.Count(x.output(), "\n8 cameras ")+strings.Count(x.output(), "\r\n8 cameras ") < 2; time.Sleep(5 * time.Millisecond) {
			if time.Since(begin) > visible {
				t.Fatalf("%s: no tables again and again:\n%s", name, x.output())
			}
		}
		if strings.Contains(x.output(), "\x1b") {
			t.Errorf("%s: control characters in %q", name, x.output())
		}
	}
	oneClearLine(t, r.failing("top", "--once", "--nats", r.url, "--rig", "nobody"), `no process of rig "nobody" answers`, "--rig")
	oneClearLine(t, r.failing("top", "--once", "--nats", "nats://127.0.0.1:1"), "no NATS server at nats://127.0.0.1:1")
	oneClearLine(t, r.failing("top", "--interval", "1ms"), "--interval=1ms")
}

// failing is what the program says when it fails.
func (r *rig) failing(args ...string) string {
	r.t.Helper()
	cmd := command(r.t, args...)
	var said strings.Builder
	cmd.Stderr = &said
	if out, err := cmd.Output(); err == nil || len(out) > 0 {
		r.t.Errorf("%v: error %v, output %s", args, err, out)
	}
	return said.String()
}

// Eight cameras cost less than 2 % of a CPU to look at.
func (r *rig) topIsFrugal(t *testing.T) {
	x := inTerminal(t, "xterm-256color", 80, 24, r.topArgs()...)
	x.until("8 cameras")
	const seconds = 8
	before, printed := cpuTicks(t, x.cmd.Process.Pid), len(x.output())
	first := clockOf(x.text())
	<-time.After(seconds * time.Second) // what is measured
	x.until("8 cameras")
	if clockOf(x.text()) == first {
		t.Error("the screen stands still")
	}
	percent := float64(cpuTicks(t, x.cmd.Process.Pid)-before) / seconds // a tick is 10 ms: 100 a second
	t.Logf("%.2f %% of a CPU, %d bytes a second to the terminal", percent, (len(x.output())-printed)/seconds)
	if percent > 2 {
		t.Errorf("%.2f %% of a CPU", percent)
	}
}

// clockOf is the time on the screen.
func clockOf(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(first)
	return fields[len(fields)-1]
}

// cpuTicks is the CPU time of a process, in hundredths of a second.
func cpuTicks(t *testing.T, pid int) (ticks int) {
	t.Helper()
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(data)[strings.LastIndex(string(data), ")"):])
	for _, i := range []int{12, 13} { // utime, stime, counted from the state
		n, err := strconv.Atoi(fields[i])
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return ticks
}

// The rig ends, and another one comes, while somebody watches.
func (r *rig) topWaits(t *testing.T) {
	x := inTerminal(t, "xterm-256color", 80, 40, r.topArgs()...)
	x.until("8 cameras")
	r.interrupt()
	r.wait()
	x.until("the NATS server is away")
	again := prepare(t)
	again.name = r.name
	again.url = r.url
	listen := strings.TrimPrefix(r.url, "nats://")
	again.start(exec.Command(program, "up", "--rig", r.name, "--listen", listen, "--data-dir", again.dir, "--config", again.config(""), "--source", "synthetic:faces=1,fps=5")) //nolint:gosec // the program under test
	x.until("the NATS server is there", "cam0      running")
}
