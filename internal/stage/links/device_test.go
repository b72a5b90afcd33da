//go:build cuda

package links

import (
	"errors"
	"strings"
	"testing"
	"time"

	"facetrack/gpuring"
	"facetrack/internal/cuda"
	"facetrack/internal/cuda/cudatest"
	"facetrack/internal/fault"
	"facetrack/internal/stage/stagetest"
	"facetrack/ipc"
)

// newGPURig is newRig with the ring in device memory.
func newGPURig(t *testing.T) *rig {
	t.Helper()
	gpu := cudatest.Use(t)
	r := &rig{Bus: stagetest.NewBus(t), dir: t.TempDir()}
	r.startOn(gpu)
	return r
}

// startOn is start with the ring on a GPU.
func (r *rig) startOn(gpu *cuda.Context) {
	r.T.Helper()
	w, err := gpuring.Create(gpuring.Options{Dir: r.dir, Rig: stagetest.Rig, Camera: stagetest.Camera, Geometry: geometry, GPU: gpu})
	if err != nil {
		r.T.Fatal(err)
	}
	s, err := ipc.NewServer(r.Connect().Conn, stagetest.Rig, stagetest.Camera, w, stagetest.Quiet, ipc.ServerOptions{MaxSilence: stagetest.Deadline})
	if err != nil {
		r.T.Fatal(err)
	}
	r.Ring = &stagetest.Ring{Writer: w, Server: s}
	r.T.Cleanup(func() {
		if err := errors.Join(s.Close(), w.Close()); err != nil {
			r.T.Error(err)
		}
	})
}

// write publishes a frame whose bytes are all its number, once a slot's upload is over.
func (r *rig) write() ipc.Frame {
	r.T.Helper()
	var claim gpuring.Claim
	var err error
	for end := time.Now().Add(stagetest.Deadline); ; time.Sleep(time.Millisecond) {
		if claim, err = r.Writer.Begin(); !errors.Is(err, gpuring.ErrNoFreeSlot) || time.Now().After(end) {
			break
		}
	}
	if err != nil {
		r.T.Fatal(err)
	}
	seq := r.Writer.NextSeq()
	for i := range claim.View().Host {
		claim.View().Host[i] = byte(seq)
	}
	ticket, err := claim.Publish(seq)
	if err != nil {
		r.T.Fatal(err)
	}
	return ipc.Frame{
		Camera: stagetest.Camera, Seq: seq, CaptureNS: 1, WallNS: 1, Ring: ticket.RingID, Slot: ticket.Slot, Generation: ticket.Generation,
		Width: geometry.Width, Height: geometry.Height, Format: string(geometry.Format),
	}
}

// Whatever fails on the way to the GPU, when attaching or later, every frame comes through with the right pixels, and
// the telemetry says by which transport and why.
func TestEveryFrameWhateverFails(t *testing.T) {
	r := newGPURig(t)
	for _, c := range []struct{ env, transport, says string }{
		{"", "cuda-ipc", "proved on GPU-"},
		{cuda.LibraryVariable + "=/nonexistent/libcuda.so.1", "shm", "no NVIDIA driver"},
		{fault.Variable + "=cuInit=100", "shm", "no GPU here"},
		{fault.Variable + "=uuid=other", "shm", "not visible here"},
		{fault.Variable + "=peer=none", "shm", "no peer access"},
		{fault.Variable + "=mig=on", "shm", "MIG"},
		{fault.Variable + "=integrated=on", "shm", "Jetson"},
		{fault.Variable + "=pid=same", "shm", "PID namespace"},
		{fault.Variable + "=permission=denied", "shm", "permission denied"},
		{fault.Variable + "=cuDevicePrimaryCtxRetain=2", "shm", "no memory left"},
		{fault.Variable + "=cuIpcOpenMemHandle=2", "shm", "no memory left"},
		{fault.Variable + "=cuIpcOpenEventHandle=205,cuStreamWaitValue64=801", "shm", "--ipc=host"},
		{fault.Variable + "=cuIpcOpenEventHandle=205", "cuda-ipc", "memops"},
		{fault.Variable + "=canary=zeros", "shm", "zeros"},
		{fault.Variable + "=canary=stale", "shm", "just written"},
		{fault.Variable + "=generation=old", "shm", "renewed"},
		{fault.Variable + "=cuMemcpyDtoHAsync=700@25", "shm", "broke on this ring"},
		{fault.Variable + "=cuStreamSynchronize=700@8", "shm", "broke on this ring"},
	} {
		t.Run(c.env, func(t *testing.T) {
			child := startConsumer(t, r.URL, c.env)
			var last outcome
			for range 20 {
				f := r.write()
				if last = child.use(f); !last.Used || last.Reason != "" || last.Err != "" {
					t.Errorf("frame %d: %+v", f.Seq, last)
				}
			}
			if l := last.Link; l.Transport != c.transport || !strings.Contains(l.Reason, c.says) || (l.GPU != "") != (c.transport == "cuda-ipc") {
				t.Errorf("link %+v", l)
			}
		})
	}
}

// The stages of one process share the ring's memory without importing it.
func TestDeviceRingInOneProcess(t *testing.T) {
	r := newGPURig(t)
	set := r.newSet()
	for range 3 * geometry.Slots {
		if o := consumeOne(set, r.write()); !o.Used || o.Reason != "" || o.Link.Transport != "cuda" {
			t.Errorf("%+v, link %+v", o, o.Link)
		}
	}
}
