package capture

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"facetrack/gpuring"
	"facetrack/internal/source"
	"facetrack/internal/stage/stagetest"
	"facetrack/ipc"
)

func (r *rig) link(allow ...ipc.Transport) *ipc.Link {
	r.T.Helper()
	l, err := ipc.NewLink(r.NC.Conn, stagetest.Rig, "cam0", "consumer", ipc.LinkOptions{
		Dir: r.env.Config.Ring.Dir, Timeout: stagetest.Deadline, Allow: allow,
	})
	if err != nil {
		r.T.Fatal(err)
	}
	r.T.Cleanup(func() { _ = l.Close() })
	return l
}

// readFilled leases a frame of a stepped source and checks its pixels.
func (r *rig) readFilled(l *ipc.Link, f ipc.Frame, want byte) {
	r.T.Helper()
	lease, err := l.Lease(r.T.Context(), f)
	if err != nil {
		r.T.Fatalf("frame %d: %v", f.Seq, err)
	}
	pixels, err := lease.Host()
	if err := errors.Join(err, lease.Release()); err != nil || !bytes.Equal(pixels, bytes.Repeat([]byte{want}, f.Width*f.Height*3)) {
		r.T.Errorf("frame %d: %v, or other pixels than %d", f.Seq, err, want)
	}
}

// Frames of a ring that was replaced are read to the last, in their order, by whatever transport, while the next ring fills; then it goes.
func TestReplacedRingIsReadToItsEnd(t *testing.T) {
	renew := func(_ *rig, c *camera, _ *stepped) error { return c.renewRing() }
	fail := func(r *rig, _ *camera, _ *stepped) error {
		faults(r.T.(*testing.T), "cuMemcpyHtoDAsync=719")
		return nil
	}
	for name, c := range map[string]struct {
		gpu     bool
		replace func(*rig, *camera, *stepped) error
	}{
		"new geometry": {false, renew}, "new geometry, on the GPU": {true, renew}, "failed GPU": {true, fail},
	} {
		t.Run(name, func(t *testing.T) {
			for by, allowed := range map[string][]ipc.Transport{"fastest": nil, "copy": {ipc.Copy}} {
				t.Run(by, func(t *testing.T) {
					var r *rig
					if c.gpu {
						r, _ = newRigWithGPU(t)
					} else {
						r = newRig(t)
					}
					r.readToTheEnd(c.replace, allowed...)
				})
			}
		})
	}
}

func (r *rig) readToTheEnd(replace func(*rig, *camera, *stepped) error, allowed ...ipc.Transport) {
	c := r.camera(drawn("synthetic:faces=0,size=160x120,format=BGR", "realtime"))
	src, link := c.replace(r.T.(*testing.T)), r.link(allowed...)
	src.then = c.info
	c.limits.linger = time.Hour
	var all []ipc.Frame
	frame := func() {
		r.grab(c, src)
		all = append(all, r.next(uint64(len(all))))
	}
	frame()
	r.readFilled(link, all[0], 1)
	frame()
	frame()
	r.Eventually("the uploads have ended", func() bool { return r.ringStatus().UploadPending == 0 })
	if err := replace(r, c, src); err != nil {
		r.T.Fatal(err)
	}
	if err := link.Attach(r.T.Context(), c.ring.ID()); err != nil { // as stages are invited to, while frames of the old ring wait in them
		r.T.Fatal(err)
	}
	frame()
	if all[3].Ring == all[2].Ring {
		r.T.Fatal("the ring was not replaced")
	}
	old := c.leaving[0]
	for i, f := range all[1:] {
		r.readFilled(link, f, byte(i+2))
	}
	select {
	case <-old.over:
		r.T.Error("the old ring went before the stages had done with its frames")
	default:
	}
	for _, f := range all[:3] { // not the one in the new ring
		r.ack(f)
	}
	stagetest.Next(r.T, old.over)
	if old.err != nil {
		r.T.Error(old.err)
	}
	if _, err := link.Lease(r.T.Context(), all[2]); !errors.Is(err, gpuring.ErrStale) {
		r.T.Errorf("a frame of a ring that has gone: %v", err)
	}
}

// A process that waits for a frame which will not come is not kept waiting for frames that others have not read.
func TestCutOffRingGoesAtOnce(t *testing.T) {
	r, gpu := newRigWithGPU(t)
	newGate(t, gpu).holdUploads(r)
	c := r.camera(drawn("synthetic:faces=0,size=160x120", "realtime"))
	src := c.replace(t)
	c.limits.linger = time.Hour
	reader, err := gpuring.OpenDevice(c.ring.Descriptor(), "test", gpuring.DeviceOptions{GPU: gpu})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	r.grab(c, src)
	cut := r.next(0)
	faults(t, "cuMemcpyHtoDAsync=719")
	r.grab(c, src)
	r.checkFilled(r.next(1), 2)
	r.Eventually("the ring is closed", func() bool {
		lease, err := reader.Lease(cut.Ticket())
		if err == nil {
			_ = lease.Release()
		}
		return errors.Is(err, gpuring.ErrClosed)
	})
}

// Another farewell is not begun before the one before has ended, which has no more time then.
func TestOneFarewellAtATime(t *testing.T) {
	r := newRig(t)
	c := r.camera(drawn("synthetic:faces=0,size=160x120", "realtime"))
	src := c.replace(t)
	src.then = c.info
	c.limits.linger, c.limits.goodbye = time.Hour, time.Hour
	var before *farewell
	for seq := range uint64(3) {
		r.grab(c, src)
		r.next(seq) // nobody reads it
		if err := c.renewRing(); err != nil {
			t.Fatal(err)
		}
		if before != nil && !before.ended() {
			t.Error("the farewell before has not ended")
		}
		if len(c.leaving) != 1 || c.leaving[0].ended() {
			t.Errorf("%d farewells", len(c.leaving))
		}
		before = c.leaving[0]
	}
	if err := c.Close(); err != nil || !before.ended() {
		t.Errorf("Close left a farewell behind: %v", err)
	}
}

// Other processes that hold the memory of a ring do not keep a camera waiting that needs another one.
func TestNewRingDoesNotWaitForOldReaders(t *testing.T) {
	r, gpu := newRigWithGPU(t)
	c := r.camera(drawn("synthetic:faces=0,size=160x120", "realtime"))
	src := c.replace(t)
	src.then = source.Info{Width: 320, Height: 240, Format: source.NV12, FPS: 30}
	closing := make(chan struct{})
	c.ring = slowRing{c.ring, closing}
	ended := r.run(t.Context(), c.run)
	src.step(1)
	f := r.next(0)
	r.ack(f)
	src.steps <- source.ErrGeometry
	src.step(1)
	next := r.next(1)
	if next.Ring == f.Ring || next.Width != 320 {
		t.Errorf("frame %+v after %+v", next, f)
	}
	r.ack(next)
	close(closing)
	src.steps <- context.Canceled
	if err := stagetest.Next(t, ended); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if reader, err := gpuring.OpenDevice(c.ring.Descriptor(), "test", gpuring.DeviceOptions{GPU: gpu}); err != nil {
		t.Error(err)
	} else if err := reader.Close(); err != nil {
		t.Error(err)
	}
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
