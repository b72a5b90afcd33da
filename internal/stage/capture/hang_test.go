package capture

import (
	"errors"
	"strings"
	"testing"
	"time"

	"facetrack/gpuring"
	"facetrack/internal/cuda"
	"facetrack/internal/source"
	"facetrack/internal/stage/stagetest"
	"facetrack/ipc"
)

// gate lets streams of the GPU hang until it is opened.
type gate struct {
	word   *cuda.Memory
	stream *cuda.Stream // that opens it
}

func newGate(t *testing.T, gpu *cuda.Context) *gate {
	t.Helper()
	word, err := gpu.Alloc(8)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := gpu.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{word, stream}
	t.Cleanup(func() {
		g.open(t)
		if err := errors.Join(stream.Synchronize(), stream.Close(), word.Close()); err != nil {
			t.Error(err)
		}
	})
	return g
}

func (g *gate) wait(s *cuda.Stream) error { return s.WaitGEQ64(g.word.Address(), 1) }

func (g *gate) open(t *testing.T) {
	t.Helper()
	if err := g.stream.Write64(g.word.Address(), 1); err != nil {
		t.Error(err)
	}
}

// holdUploads makes rings whose uploads wait for the gate.
func (g *gate) holdUploads(r *rig) {
	r.gpus.create = func(o gpuring.Options) (gpuring.Writer, error) {
		o.Fill = func(s *cuda.Stream, v gpuring.View, _ uint64) error {
			return errors.Join(g.wait(s), s.Upload(v.Device, v.Host))
		}
		return gpuring.Create(o)
	}
}

// grab takes the next step of a stepped source and brings its frame into the ring, or drops it.
func (r *rig) grab(c *camera, src *stepped) {
	r.T.Helper()
	src.step(1)
	at, err := c.src.Grab(r.T.Context())
	if err != nil {
		r.T.Fatal(err)
	}
	r.frame(c, at)
}

// next is the next announced frame, which has to be the one with the number.
func (r *rig) next(seq uint64) ipc.Frame {
	r.T.Helper()
	f := stagetest.Next(r.T, r.frames)
	if f.Seq != seq {
		r.T.Fatalf("frame %d was announced, want %d", f.Seq, seq)
	}
	return f
}

// A GPU that hangs without an error is given up after a while: frames that found no slot until then are dropped for that reason,
// and the frame that comes then is not lost.
func TestGPUThatHangs(t *testing.T) {
	r, gpu := newRigWithGPU(t)
	newGate(t, gpu).holdUploads(r)
	c := r.camera(drawn("synthetic:faces=0,size=160x120", "realtime"))
	src := c.replace(t)
	src.then = source.Info{Width: 320, Height: 240, Format: source.NV12, FPS: 30}
	c.limits.stall = time.Hour
	first := c.ring.ID()
	for seq := range uint64(4) {
		r.grab(c, src)
		r.next(seq)
	}
	r.grab(c, src)
	if d := stagetest.Next(t, r.drops); d.Reason != "gpu-stalled" || len(d.Seqs) != 1 || d.Seqs[0] != 4 {
		t.Errorf("drop %+v", d)
	}
	c.limits.stall = time.Nanosecond
	r.grab(c, src)
	if f := r.next(5); f.Ring == first {
		t.Error("still in the ring of the GPU that hangs")
	} else {
		r.checkFilled(f, 5) // the one that was dropped was not read from the source
	}
	told := func() {
		t.Helper()
		ring, state := r.ringStatus(), r.env.Telemetry.Snapshot().Cameras["cam0"].State
		for _, want := range []string{"the GPU has not finished an upload for", "dmesg", "start capture again"} {
			if ring.GPU != "" || !strings.Contains(ring.NoGPU, want) || !strings.HasPrefix(state, "running without the GPU: ") {
				t.Errorf("state %q, ring %+v; want %q in the reason", state, ring, want)
			}
		}
	}
	told()
	src.steps <- source.ErrGeometry // the next ring leaves the GPU alone as well: whoever calls its driver may not come back
	if _, err := c.src.Grab(t.Context()); !errors.Is(err, source.ErrGeometry) {
		t.Fatal(err)
	}
	c.limits.goodbye = time.Millisecond
	if err := c.renewRing(); err != nil {
		t.Fatal(err)
	}
	r.grab(c, src)
	r.next(6)
	told()
}

// When the driver comes back, what it kept is freed, and the next ring is on the GPU again.
func TestGPUThatComesBack(t *testing.T) {
	r, gpu := newRigWithGPU(t)
	g := newGate(t, gpu)
	g.holdUploads(r)
	c := r.camera(drawn("synthetic:faces=0,size=160x120", "realtime"))
	src := c.replace(t)
	src.then = c.info
	r.grab(c, src)
	r.next(0)
	c.limits.stall = time.Nanosecond
	r.grab(c, src)
	r.next(1)
	old := c.leaving[0]
	stagetest.Next(t, old.over)
	renew := func() RingStatus {
		t.Helper()
		if err := c.renewRing(); err != nil {
			t.Fatal(err)
		}
		return r.ringStatus()
	}
	if s := renew(); s.GPU != "" || old.ended() {
		t.Errorf("the GPU hangs still: %+v", s)
	}
	g.open(t)
	stagetest.Next(t, old.freed)
	c.limits.stall = time.Hour
	if s := renew(); s.GPU == "" || s.NoGPU != "" {
		t.Errorf("the GPU is back: %+v", s)
	}
	r.grab(c, src)
	r.next(2)
}

// With pace "max" no frame is lost: capture waits for a slot as long as the GPU may recover.
func TestHangingGPUCostsARecordingNothing(t *testing.T) {
	r, gpu := newRigWithGPU(t)
	newGate(t, gpu).holdUploads(r)
	c := r.camera(drawn("synthetic:faces=0,size=160x120", "max"))
	src := c.replace(t)
	c.limits.stall, c.limits.goodbye = 50*time.Millisecond, time.Millisecond
	first := c.ring
	for seq := range uint64(9) {
		r.grab(c, src)
		r.checkFilled(r.next(seq), byte(seq+1))
	}
	if s := r.env.Telemetry.Snapshot().Cameras["cam0"]; len(s.Dropped) > 0 || !strings.Contains(s.State, "has not finished an upload") {
		t.Errorf("telemetry %+v", s)
	}
	if got := first.Stats().NoFreeSlot + c.ring.Stats().NoFreeSlot; got != 0 {
		t.Errorf("%d frames count as without a slot, but each got one", got)
	}
}
