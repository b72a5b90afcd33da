package capture

import (
	"strings"
	"testing"
	"time"

	"facetrack/gpuring"
	"facetrack/internal/stage/stagetest"
)

func TestStallIsNoProgressWithUploadsUnderWay(t *testing.T) {
	t0 := time.Unix(100, 0)
	s := newStall()
	for i, c := range []struct {
		uploads uint64
		pending int
		after   time.Duration
		want    time.Duration
	}{
		{10, 4, 0, 0},
		{10, 4, time.Second, time.Second},
		{10, 3, 2 * time.Second, 0}, // one has ended
		{11, 4, 3 * time.Second, time.Second},
		{11, 0, 9 * time.Second, 0}, // all have: readers hold the slots
		{11, 0, 10 * time.Second, 0},
		{15, 4, 11 * time.Second, time.Second}, // these began at some time since
		{15, 4, 13 * time.Second, 3 * time.Second},
	} {
		if got := s.seen(gpuring.Stats{Uploads: c.uploads, UploadPending: c.pending}, t0.Add(c.after)); got != c.want {
			t.Errorf("look %d: %v without progress, want %v", i, got, c.want)
		}
	}
}

// stuckRing has no slot because the GPU ends no upload.
type stuckRing struct{ gpuring.Writer }

func (stuckRing) Begin() (gpuring.Claim, error) { return nil, gpuring.ErrNoFreeSlot }
func (stuckRing) Ready() bool                   { return false }

func (r stuckRing) Stats() gpuring.Stats {
	s := r.Writer.Stats()
	s.Uploads, s.UploadPending = 8, 8
	return s
}

// A GPU that stands still without an error is given up after a while; what is dropped until then has that reason.
func TestGPUThatStandsStill(t *testing.T) {
	r, _ := newRigWithGPU(t)
	c := r.camera(drawn("synthetic:faces=0,size=160x120", "realtime"))
	src := c.replace(t)
	c.stall.noticed, c.stall.hopeless = time.Nanosecond, time.Hour
	first := c.ring.ID()
	c.ring = stuckRing{c.ring}
	c.stall.seen(c.ring.Stats(), time.Now().Add(-time.Second)) // it has been so for a second
	src.step(2)
	r.grab(c)
	if d := stagetest.Next(t, r.drops); d.Reason != reasonGPUStalled {
		t.Errorf("dropped because of %q", d.Reason)
	}
	c.stall.hopeless = time.Nanosecond
	r.grab(c)
	if d := stagetest.Next(t, r.drops); d.Reason != reasonGPUStalled {
		t.Errorf("dropped because of %q", d.Reason)
	}
	src.step(1)
	r.grab(c)
	if f := stagetest.Next(t, r.frames); f.Ring == first || f.Seq != 2 {
		t.Errorf("frame %d in ring %s, the one before", f.Seq, f.Ring)
	}
	if ring := r.ringStatus(); ring.GPU != "" || !strings.Contains(ring.NoGPU, "no upload has ended") || !strings.Contains(ring.NoGPU, "doctor") {
		t.Errorf("ring %+v", ring)
	}
}

// grab takes the next step of a stepped source and brings its frame into the ring.
func (r *rig) grab(c *camera) {
	r.T.Helper()
	at, err := c.src.Grab(r.T.Context())
	if err != nil {
		r.T.Fatal(err)
	}
	r.frame(c, at)
}

// Other processes that hold device memory do not keep a camera waiting that needs another ring.
func TestNewRingDoesNotWaitForOldReaders(t *testing.T) {
	r, gpu := newRigWithGPU(t)
	c := r.camera(drawn("synthetic:faces=0,size=160x120", "realtime"))
	old := c.ring
	closing := make(chan struct{})
	c.ring = slowRing{old, closing}
	renewed := make(chan error)
	go func() { renewed <- c.renewRing() }()
	if err := stagetest.Next(t, renewed); err != nil {
		t.Fatal(err)
	}
	if c.ring.ID() == old.ID() || c.ring.Descriptor().Device == nil {
		t.Errorf("the ring is %s", c.ring.ID())
	}
	if reader, err := gpuring.OpenDevice(c.ring.Descriptor(), "test", gpuring.DeviceOptions{GPU: gpu}); err != nil {
		t.Error(err)
	} else if err := reader.Close(); err != nil {
		t.Error(err)
	}
	close(closing)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// slowRing does not close before it may.
type slowRing struct {
	gpuring.Writer
	may <-chan struct{}
}

func (r slowRing) Close() error {
	<-r.may
	return r.Writer.Close()
}
