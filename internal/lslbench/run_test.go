package lslbench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"facetrack/internal/testutil"
)

// partOf makes the test program one of the two processes.
const partOf = "LSLBENCH_TEST_PART"

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(partOf) {
	case "":
		os.Exit(m.Run())
	case "send":
		err = Send(context.Background(), os.Args[1:], os.Stdin, os.Stdout)
	case "read":
		readers, _ := strconv.Atoi(os.Args[1])
		err = Read(context.Background(), readers, os.Args[2] == "true", os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func partCommand(t *testing.T, part string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), partOf+"="+part)
	cmd.Stderr = os.Stderr
	return cmd
}

func TestRunCountsEverySample(t *testing.T) {
	for _, step := range []bool{false, true} {
		load := Load{Participants: 3, Rate: 50, Readers: 2, InStep: step, Duration: 500 * time.Millisecond}
		r, err := Run(t.Context(), load, true, partCommand(t, "send", load.arguments()...), partCommand(t, "read", "2", "true"))
		if err != nil {
			t.Fatal(err)
		}
		check(t, r)
		if step && r.Answers == 0 {
			t.Error("nobody answered a query")
		}
	}
}

// check wants 3 participants of 3 streams and 25 samples, for 2 readers, all there, and figures that can be.
func check(t *testing.T, r Result) {
	t.Helper()
	if r.Streams != 9 || r.Sent != 3*3*25*2 || r.Received != r.Sent || r.Lost != 0 {
		t.Errorf("%+v", r)
	}
	if r.Seconds < 0.4 || r.CPU <= 0 || r.PerSample <= 0 || r.Files < 9 || r.DelayMS.P50 <= 0 || r.DelayMS.P50 > r.DelayMS.P99 || r.DelayMS.P99 > r.DelayMS.Max {
		t.Errorf("%+v", r)
	}
}

func TestRunWithLibrary(t *testing.T) {
	library := os.Getenv("LIBLSL")
	if library == "" {
		library = filepath.Join(testutil.RepoRoot(), ".cache", "liblsl", "liblsl64.so")
	}
	if _, err := os.Stat(library); err != nil {
		t.Skip("SKIPPED: no liblsl: scripts/liblsl.sh fetches it")
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("SKIPPED: needs gcc")
	}
	load := Load{Participants: 3, Rate: 50, Readers: 2, Duration: 500 * time.Millisecond}
	send, err := LibrarySender(t.Context(), t.TempDir(), library, load)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), load, false, send, partCommand(t, "read", "2", "false"))
	if err != nil {
		t.Fatal(err)
	}
	check(t, r)
}

func TestFailuresAreErrors(t *testing.T) {
	load := Load{Participants: 1, Rate: 50, Readers: 1, Duration: time.Second}
	for what, send := range map[string]*exec.Cmd{
		"a sender that cannot start":  exec.Command("/nonexistent"),
		"a sender that ends at once":  exec.Command("true"),
		"a sender with bad arguments": partCommand(t, "send", "many"),
		"a sender of nonsense":        exec.Command("sh", "-c", "echo ready; read go; echo sent nothing"),
	} {
		if r, err := Run(t.Context(), load, false, send, partCommand(t, "read", "1", "false")); err == nil {
			t.Errorf("%s: %+v", what, r)
		}
	}
}

// TestTurns: spread participants come one after the other within a period, those in step together.
func TestTurns(t *testing.T) {
	for _, c := range []struct {
		step bool
		turn int
		want time.Duration
	}{
		{false, 0, 0}, {false, 1, 25 * time.Millisecond}, {false, 4, 100 * time.Millisecond},
		{true, 3, 0}, {true, 4, 100 * time.Millisecond}, {true, 9, 200 * time.Millisecond},
	} {
		s := sender{load: Load{Participants: 4, Rate: 10, InStep: c.step}}
		if got := s.due(c.turn); got != c.want {
			t.Errorf("in step %v, turn %d: %v, want %v", c.step, c.turn, got, c.want)
		}
	}
}
