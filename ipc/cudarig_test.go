//go:build cuda

package ipc_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"facetrack/gpuring"
	"facetrack/internal/clock"
	"facetrack/internal/cuda"
	"facetrack/internal/cuda/cudatest"
	"facetrack/internal/fault"
	"facetrack/ipc"
)

// captureEnv makes the test program a capture process with a GPU; its value is the NATS URL.
const captureEnv = "FACETRACK_IPC_CAPTURE"

func TestMain(m *testing.M) {
	if url := os.Getenv(captureEnv); url != "" {
		if err := captureOnOrder(url, os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, "capture:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// gpuCapture is the ring of one camera in device memory, and its server.
type gpuCapture struct {
	writer gpuring.Writer
	server *ipc.Server
}

func newGPUCapture(nc *ipc.Conn, dir string, gpu *cuda.Context) (*gpuCapture, error) {
	w, err := gpuring.Create(gpuring.Options{Dir: dir, Rig: "lab", Camera: "cam", Geometry: geometry, GPU: gpu})
	if err != nil {
		return nil, err
	}
	s, err := ipc.NewServer(nc.Conn, "lab", "cam", w, quiet, ipc.ServerOptions{MaxSilence: patience})
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return &gpuCapture{w, s}, nil
}

func (c *gpuCapture) publish() (ipc.Frame, error) {
	var f ipc.Frame
	var claim gpuring.Claim
	var err error
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) { // uploads of a busy machine may be under way
		if claim, err = c.writer.Begin(); !errors.Is(err, gpuring.ErrNoFreeSlot) || time.Now().After(end) {
			break
		}
	}
	if err != nil {
		return f, err
	}
	seq := c.writer.NextSeq()
	copy(claim.View().Host, pixels(seq))
	t, err := claim.Publish(seq)
	if err != nil {
		return f, err
	}
	return ipc.Frame{
		Camera: "cam", Seq: seq, CaptureNS: clock.Now(), WallNS: clock.Wall(), Ring: t.RingID, Slot: t.Slot, Generation: t.Generation,
		Width: geometry.Width, Height: geometry.Height, Format: string(geometry.Format),
	}, nil
}

func (c *gpuCapture) Close() error { return errors.Join(c.server.Close(), c.writer.Close()) }

// captureOnOrder answers each line on standard input with a frame: "frame" publishes one, "renew" makes a new ring
// first, "close" ends.
func captureOnOrder(url, dir string) error {
	device, err := cuda.SelectDevice("auto")
	if err != nil {
		return err
	}
	gpu, err := cuda.Open(device)
	if err != nil {
		return err
	}
	nc, err := ipc.Connect(url, "capture", quiet, nats.Timeout(patience))
	if err != nil {
		return err
	}
	c, err := newGPUCapture(nc, dir, gpu)
	if err != nil {
		return err
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan() && in.Text() != "close"; {
		if in.Text() == "renew" {
			if err := c.Close(); err != nil {
				return err
			}
			if c, err = newGPUCapture(nc, dir, gpu); err != nil {
				return err
			}
		}
		f, err := c.publish()
		if err != nil {
			return err
		}
		if err := json.NewEncoder(os.Stdout).Encode(f); err != nil {
			return err
		}
	}
	return errors.Join(c.Close(), nc.Close(), gpu.Close())
}

// gpuRig is a capture process with a GPU, and a NATS server.
type gpuRig struct {
	t   *testing.T
	nc  *ipc.Conn
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader

	killed bool
}

// kill ends capture as kill -9 does.
func (r *gpuRig) kill() {
	r.t.Helper()
	r.killed = true
	if err := r.cmd.Process.Kill(); err != nil {
		r.t.Fatal(err)
	}
}

func startGPURig(t *testing.T, env ...string) *gpuRig {
	t.Helper()
	cudatest.Use(t)
	t.Cleanup(func() { fault.Plan("") })
	url := startNATS(t, small).ClientURL()
	cmd := exec.Command(os.Args[0], t.TempDir()) //nolint:gosec // this program
	cmd.Env, cmd.Stderr = append(append(os.Environ(), captureEnv+"="+url), env...), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := &gpuRig{t: t, nc: connect(t, url), cmd: cmd, in: in, out: bufio.NewReader(out)}
	t.Cleanup(r.end)
	return r
}

// end ends capture in order, or by force.
func (r *gpuRig) end() {
	_ = r.in.Close()
	ended := make(chan error, 1)
	go func() { ended <- r.cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil && !r.killed {
			r.t.Errorf("capture: %v", err)
		}
	case <-time.After(patience):
		_ = r.cmd.Process.Kill()
		r.t.Errorf("capture does not end: %v", <-ended)
	}
}

// order has capture do something, and returns the frame that it has published then.
func (r *gpuRig) order(what string) (f ipc.Frame) {
	r.t.Helper()
	if _, err := fmt.Fprintln(r.in, what); err != nil {
		r.t.Fatal(err)
	}
	line, err := r.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &f)
	}
	if err != nil {
		r.t.Fatalf("capture: %v: %q", err, line)
	}
	return f
}
