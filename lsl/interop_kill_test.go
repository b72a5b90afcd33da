package lsl

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// outletProcess is this test program as an outlet.
type outletProcess struct {
	cmd *exec.Cmd
	uid string
}

func startOutlet(t *testing.T, source string) outletProcess {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.Background(), self)
	cmd.Env = append(os.Environ(), outletChild+"="+source)
	stdin, err := cmd.StdinPipe() // it ends with this test program, whatever ends that
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := outletProcess{cmd: cmd}
	t.Cleanup(func() { _ = stdin.Close(); p.kill() })
	uid, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the outlet did not start: %v", err)
	}
	p.uid = strings.TrimSpace(uid)
	return p
}

// kill is kill -9.
func (p outletProcess) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

func (p outletProcess) mark() string { return strconv.Itoa(p.cmd.Process.Pid) }

// TestInteropLiblslRecovers kills the outlet's process twice; the reader moves to the one that is started instead.
func TestInteropLiblslRecovers(t *testing.T) {
	t.Parallel()
	source := testInfo(t).SourceID
	r := startLibReader(t, "source_id='"+source+"'", "f", 2)
	p := startOutlet(t, source)
	last := 0.0
	// from reads up to the first sample of the process; stamps rise all the way.
	from := func(p outletProcess) {
		for {
			ts, values := r.sample()
			if ts <= last {
				t.Fatalf("stamp %v after %v", ts, last)
			}
			last = ts
			if values[0] == p.mark() {
				return
			}
		}
	}
	from(p)
	for range 2 {
		p.kill()
		killed, before := time.Now(), Now()
		next := startOutlet(t, source)
		if next.uid == p.uid {
			t.Fatal("the new outlet has the old uid")
		}
		p = next
		from(p)
		t.Logf("samples of the new process %.2f s after kill -9", time.Since(killed).Seconds())
		if last < before {
			t.Errorf("stamp %v is from before the kill at %v", last, before)
		}
	}
}
