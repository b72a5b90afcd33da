package capture

import (
	"os"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"facetrack/gpuring"
	"facetrack/internal/stage/stagetest"
	"facetrack/ipc"
)

// People find in the rig's bucket which ring a camera has, and whether it is still there.
func TestBucketKnowsTheRing(t *testing.T) {
	r := newRigWithBucket(t)
	c := r.camera(drawn("synthetic:faces=0,size=160x120,format=NV12", "max"))
	id, want := c.ring.ID(), gpuring.Geometry{Width: 160, Height: 120, Format: gpuring.NV12, Slots: 4}
	for _, open := range []bool{true, false} {
		if !open {
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
		}
		got, err := r.env.Bucket.Ring(t.Context(), "cam0")
		if err != nil || got.Camera != "cam0" || got.Ring != id || got.Geometry != want || got.Open != open {
			t.Errorf("open %v: %+v, %v", open, got, err)
		}
	}
}

// Capture that was ended in order and started again goes on with the camera's numbers.
func TestNumbersGoOnAfterAnOrderlyEnd(t *testing.T) {
	r := newRigWithBucket(t)
	first := r.camera(drawn("synthetic:faces=0,size=160x120", "max"))
	for range 5 {
		first.ring.NextSeq()
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := r.camera(drawn("synthetic:faces=0,size=160x120", "max"))
	if n := second.ring.NextSeq(); n != 5 {
		t.Errorf("the next frame has number %d, want 5", n)
	}
}

// The numbers go on also where the bucket cannot be written at the end: the server is away, or its disk full. Nothing is left when the
// camera ends in peace.
func TestNumbersGoOnAfterAnEndWithoutServer(t *testing.T) {
	r := newRigWithBucket(t)
	endWithoutServer(t, r)
	second := r.camera(drawn("synthetic:faces=0,size=160x120", "max"))
	if n := second.ring.NextSeq(); n != 5 {
		t.Errorf("the next frame has number %d, want 5", n)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	nothingLeft(t, r)
}

// Nothing is left by a process whose parent is gone, and the server with it: nobody follows.
func TestOrphanLeavesNothing(t *testing.T) {
	t.Cleanup(func() { getppid = os.Getppid })
	getppid = func() int { return parent + 1 }
	r := newRigWithBucket(t)
	endWithoutServer(t, r)
	nothingLeft(t, r)
}

// endWithoutServer ends a camera that has numbered five frames, and whose bucket cannot be written any more.
func endWithoutServer(t *testing.T, r *rig) {
	t.Helper()
	nc := r.Connect()
	js, err := jetstream.New(nc.Conn)
	if err != nil {
		t.Fatal(err)
	}
	whole := r.env.Bucket
	if r.env.Bucket, err = ipc.FindBucket(t.Context(), js, stagetest.Rig); err != nil {
		t.Fatal(err)
	}
	c := r.camera(drawn("synthetic:faces=0,size=160x120", "max"))
	for range 5 {
		c.ring.NextSeq()
	}
	_ = nc.Close()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	r.env.Bucket = whole
}

func nothingLeft(t *testing.T, r *rig) {
	t.Helper()
	if left, err := os.ReadDir(r.env.Config.Ring.Dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// newRigWithBucket is newRig on a server that keeps state.
func newRigWithBucket(t *testing.T) *rig {
	t.Helper()
	r := newRigOn(stagetest.NewBus(t, stagetest.JetStream(t.TempDir())))
	js, err := jetstream.New(r.env.Bus)
	if err != nil {
		t.Fatal(err)
	}
	if r.env.Bucket, err = ipc.OpenBucket(t.Context(), js, stagetest.Rig); err != nil {
		t.Fatal(err)
	}
	return r
}
