package gpuring_test

import (
	"errors"
	"testing"

	"facetrack/gpuring"
	"facetrack/gpuring/ringtest"
	"facetrack/internal/cuda"
	"facetrack/internal/cuda/cudatest"
	"facetrack/internal/fault"
)

// gatedRing is a ring whose uploads stop half-way until the gate is opened.
func gatedRing(t *testing.T, ctx *cuda.Context) (gpuring.Writer, *gate) {
	t.Helper()
	g := openGate(t, ctx)
	o := options(t, small)
	o.GPU, o.Fill = ctx, g.halfFrom(0)
	w := create(t, o)
	t.Cleanup(func() { _ = g.open() })
	return w, g
}

// TestPendingUploads: a slot that the GPU still reads is not written, and waiting for it is nobody's business.
func TestPendingUploads(t *testing.T) {
	w, g := gatedRing(t, cudatest.Use(t))
	for range small.Slots {
		publish(t, w)
	}
	if s := w.Stats(); s.UploadPending != small.Slots || s.Uploads != uint64(small.Slots) || s.Free != small.Slots {
		t.Errorf("stats %+v", s)
	}
	if _, err := w.Begin(); !errors.Is(err, gpuring.ErrNoFreeSlot) {
		t.Fatalf("Begin while the GPU reads every slot: %v, want ErrNoFreeSlot", err)
	}
	if err := g.open(); err != nil {
		t.Fatal(err)
	}
	ringtest.Wait(t, "the uploads end", func() bool { return w.Stats().UploadPending == 0 })
	if got := publish(t, w); got.Slot != 0 {
		t.Errorf("slot %d, want the one written longest ago", got.Slot)
	}
}

// overtaken publishes one frame whose upload is held up, and then as many as the ring has slots; it returns the last frame that
// its slot was to hold, as the GPU reads it.
func overtaken(t *testing.T, f gpuring.Faults) (whole bool, err error) {
	t.Helper()
	ctx := cudatest.Use(t)
	defer gpuring.Inject(f)()
	w, g := gatedRing(t, ctx)
	r := openDevice(t, w.Descriptor(), gpuring.DeviceOptions{})
	ticket := publish(t, w)
	for range small.Slots - 1 {
		publish(t, w)
	}
	if _, err := publishPattern(w); (err == nil) != f.IgnoreUploads {
		t.Fatalf("one frame more than slots: %v", err)
	}
	lease, err := r.Lease(ticket)
	if err := g.open(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		return false, err
	}
	frame := make([]byte, small.FrameBytes())
	if err := openEye(t, ctx).get(lease.View(), frame); err != nil {
		t.Fatal(err)
	}
	return ringtest.Whole(frame, ticket.Seq), lease.Release()
}

func TestUploadIsNotOvertaken(t *testing.T) {
	if whole, err := overtaken(t, gpuring.Faults{}); !whole || err != nil {
		t.Errorf("a frame whose upload was held up: whole %v, %v", whole, err)
	}
}

func TestUploadIsNotOvertakenIsNoticed(t *testing.T) {
	if whole, err := overtaken(t, gpuring.Faults{IgnoreUploads: true}); whole || !errors.Is(err, gpuring.ErrStale) {
		t.Errorf("without regard for uploads: whole %v, %v; want the slot taken", whole, err)
	}
}

// TestUploadFails: Publish says that the GPU failed, the slot is free again, and the pixels are there for another ring.
func TestUploadFails(t *testing.T) {
	ctx := cudatest.Use(t)
	w := deviceRing(t, ctx)
	r := openDevice(t, w.Descriptor(), gpuring.DeviceOptions{})
	for _, call := range []string{"cuMemcpyHtoDAsync=700", "cuStreamWriteValue64=700", "cuEventRecord=700"} {
		ringtest.Wait(t, "the uploads end", func() bool { return w.Stats().UploadPending == 0 })
		claim, err := w.Begin()
		if err != nil {
			t.Fatal(err)
		}
		pixels, seq := claim.View().Host, w.NextSeq()
		ringtest.Fill(pixels, seq)
		plan(t, call)
		_, err = claim.Publish(seq)
		var driver *cuda.Error
		if !errors.Is(err, gpuring.ErrDevice) || !errors.As(err, &driver) || driver.Code != 700 {
			t.Errorf("%s: Publish: %v, want ErrDevice", call, err)
		}
		fault.Plan("")
		if !ringtest.Whole(pixels, seq) {
			t.Errorf("%s: the pixels have gone", call)
		}
		if _, err := claim.Publish(seq); !errors.Is(err, gpuring.ErrReleased) {
			t.Errorf("%s: the claim has not ended: %v", call, err)
		}
		ticket := publish(t, w)
		lease, err := r.Lease(ticket)
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(); err != nil {
			t.Error(err)
		}
	}
	if s := w.Stats(); s.UploadFailures != 3 || s.Uploads != 3 || s.Published != 3 || s.Writing != 0 || s.Held != 0 {
		t.Errorf("stats %+v", s)
	}
}

// TestManyStreams: each stream that waits for a frame has a proof of its own, and the words for them go round.
func TestManyStreams(t *testing.T) {
	ctx := cudatest.Use(t)
	w := deviceRing(t, ctx)
	r := openDevice(t, w.Descriptor(), gpuring.DeviceOptions{Sync: gpuring.SyncMemOps})
	eyes := []*eye{openEye(t, ctx), openEye(t, ctx), openEye(t, ctx)}
	frame := make([]byte, small.FrameBytes())
	for range 300 { // more waits than a block of proof words has
		ringtest.Wait(t, "a slot is free", func() bool { return w.Stats().UploadPending < small.Slots })
		ticket := publish(t, w)
		lease, err := r.Lease(ticket)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range eyes {
			if err := e.get(lease.View(), frame); err != nil || !ringtest.Whole(frame, ticket.Seq) {
				t.Fatalf("frame %d: %v", ticket.Seq, err)
			}
		}
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLeasesOff: the planned fault "leases=off" takes the protection away, in host rings as in device rings.
func TestLeasesOff(t *testing.T) {
	plan(t, "leases=off")
	w := create(t, options(t, small))
	r, err := gpuring.Open(w.Descriptor(), "reader")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	ticket := publish(t, w)
	lease, err := r.Lease(ticket)
	if err != nil {
		t.Fatal(err)
	}
	for range small.Slots {
		publish(t, w)
	}
	if ringtest.Whole(lease.View().Host, ticket.Seq) || lease.Valid() != nil || lease.Release() != nil {
		t.Error("a frame without a lease was protected or refused")
	}
}

// TestLeasesOffOnTheGPU: without leases a frame that was overwritten in device memory is called valid.
func TestLeasesOffOnTheGPU(t *testing.T) {
	ctx := cudatest.Use(t)
	plan(t, "leases=off")
	w := deviceRing(t, ctx)
	r := openDevice(t, w.Descriptor(), gpuring.DeviceOptions{})
	ticket := publish(t, w)
	lease, err := r.Lease(ticket)
	if err != nil {
		t.Fatal(err)
	}
	for range small.Slots {
		ringtest.Wait(t, "the upload ends", func() bool { return w.Stats().UploadPending == 0 })
		publish(t, w)
	}
	frame := make([]byte, small.FrameBytes())
	if err := openEye(t, ctx).get(lease.View(), frame); err != nil {
		t.Fatal(err)
	}
	if ringtest.Whole(frame, ticket.Seq) || lease.Release() != nil {
		t.Error("a frame without a lease was protected or refused")
	}
}
