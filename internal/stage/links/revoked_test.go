package links

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"facetrack/internal/stage/stagetest"
	"facetrack/ipc"
	"facetrack/vision"
)

// childEnv makes the test program a consumer that uses one frame; its value is the NATS URL.
const childEnv = "FACETRACK_LINKS_CHILD"

func TestMain(m *testing.M) {
	if url := os.Getenv(childEnv); url != "" {
		do := consume
		if os.Getenv(streamEnv) != "" {
			do = consumeAll
		}
		if err := do(url); err != nil {
			fmt.Println("child: failed:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// consume uses the frame that comes as a line, until another line comes.
func consume(url string) error {
	nc, err := ipc.Connect(url, "links-test", stagetest.Quiet)
	if err != nil {
		return err
	}
	set := setOn(nc, unchanged)
	in := bufio.NewReader(os.Stdin)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return err
	}
	var f ipc.Frame
	if err := json.Unmarshal(line, &f); err != nil {
		return err
	}
	reason, err := set.With(context.Background(), &f, func(vision.Image) error {
		fmt.Println("child: in use")
		_, err := in.ReadBytes('\n')
		return err
	})
	fmt.Printf("child: %q %v\n", reason, err)
	return errors.Join(set.Close(), nc.Close())
}

// A process that stands still loses its lease; what it computes after it wakes up is void.
func TestRevokedLease(t *testing.T) {
	r := newRig(t)
	f := r.publish()
	child := exec.CommandContext(t.Context(), os.Args[0]) //nolint:gosec // this program
	child.Env = append(os.Environ(), childEnv+"="+r.URL)
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	}()
	line, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	tell(t, stdin, string(line))
	out := bufio.NewScanner(stdout)
	hear(t, out, "child: in use")
	if s := r.Writer.Stats(); s.Held != 1 && s.ReclaimedStalled == 0 { // on a busy machine the child may stand still by itself
		t.Fatalf("%d slots held, want the child's", s.Held)
	}
	signal(t, child, unix.SIGSTOP)
	for end := time.Now().Add(stagetest.Deadline); r.Writer.Stats().ReclaimedStalled == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the slot of a process that stands still is never taken back")
		}
	}
	signal(t, child, unix.SIGCONT)
	tell(t, stdin, "go on")
	if got := hear(t, out, "child: "); !strings.HasPrefix(got, `child: "revoked" `) {
		t.Errorf("%s, want the result to be void", got)
	}
}

func signal(t *testing.T, child *exec.Cmd, s unix.Signal) {
	t.Helper()
	if err := child.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

func tell(t *testing.T, to io.Writer, line string) {
	t.Helper()
	if _, err := fmt.Fprintln(to, line); err != nil {
		t.Fatal(err)
	}
}

// hear returns the next line with the prefix.
func hear(t *testing.T, out *bufio.Scanner, prefix string) string {
	t.Helper()
	for out.Scan() {
		if strings.HasPrefix(out.Text(), prefix) {
			return out.Text()
		}
	}
	t.Fatalf("the child ended before it said %q: %v", prefix, out.Err())
	return ""
}
