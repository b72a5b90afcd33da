package links

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"testing"

	"facetrack/internal/stage/stagetest"
	"facetrack/internal/telemetry"
	"facetrack/ipc"
	"facetrack/vision"
)

// streamEnv makes the child use every frame that comes as a line, and answer each with an outcome: "device" on the GPU, else in
// host memory.
const streamEnv = "FACETRACK_LINKS_STREAM"

type outcome struct {
	Used   bool   // with the right pixels
	Reason string // to drop it
	Err    string
	Link   *telemetry.Link
}

func consumeAll(url string) error {
	nc, err := ipc.Connect(url, "links-test", stagetest.Quiet)
	if err != nil {
		return err
	}
	set := setOn(nc, unchanged)
	for in := bufio.NewReader(os.Stdin); ; {
		var f ipc.Frame
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return errors.Join(set.Close(), nc.Close())
		}
		if err == nil {
			err = json.Unmarshal(line, &f)
		}
		if err != nil {
			return err
		}
		use := consumeOne
		if os.Getenv(streamEnv) == "device" {
			use = readOnDevice
		}
		if err := json.NewEncoder(os.Stdout).Encode(use(set, f)); err != nil {
			return err
		}
	}
}

func consumeOne(set *Set, f ipc.Frame) (o outcome) {
	reason, err := set.With(context.Background(), &f, func(m vision.Image) error {
		o.Used = len(m.Pix) == geometry.FrameBytes()
		for _, v := range m.Pix {
			o.Used = o.Used && v == byte(f.Seq)
		}
		return nil
	})
	if o.Reason = reason; err != nil {
		o.Err = err.Error()
	}
	o.Link = set.env.Telemetry.Snapshot().Cameras[f.Camera].Link
	return o
}

// consumer is a child process that uses frames.
type consumer struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Reader
}

// startConsumer starts one with more environment variables; it must end well with the test.
func startConsumer(t *testing.T, url string, env ...string) *consumer {
	t.Helper()
	child := exec.Command(os.Args[0]) //nolint:gosec // this program
	child.Env = append(append(os.Environ(), childEnv+"="+url, streamEnv+"=1"), env...)
	child.Stderr = os.Stderr
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := child.Wait(); err != nil {
			t.Errorf("consumer: %v", err)
		}
	})
	return &consumer{t, in, bufio.NewReader(out)}
}

// use has the consumer use a frame.
func (c *consumer) use(f ipc.Frame) (o outcome) {
	c.t.Helper()
	if err := json.NewEncoder(c.in).Encode(f); err != nil {
		c.t.Fatal(err)
	}
	line, err := c.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &o)
	}
	if err != nil {
		c.t.Fatalf("consumer: %v: %s", err, line)
	}
	return o
}

func TestStreamToAnotherProcess(t *testing.T) {
	r := newRig(t)
	c := startConsumer(t, r.URL)
	for range 3 * geometry.Slots {
		if o := c.use(r.publish()); !o.Used || o.Reason != "" || o.Err != "" || o.Link.Transport != "shm" {
			t.Errorf("%+v", o)
		}
	}
}
