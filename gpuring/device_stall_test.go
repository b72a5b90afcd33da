package gpuring_test

import (
	"errors"
	"testing"
	"time"

	"facetrack/gpuring"
	"facetrack/gpuring/ringtest"
	"facetrack/internal/cuda/cudatest"
)

// TestUploadStall: uploads that do not end are noticed, and so is their end.
func TestUploadStall(t *testing.T) {
	w, g := gatedRing(t, cudatest.Use(t))
	if got := w.UploadStall(); got != 0 {
		t.Errorf("a new ring: %v", got)
	}
	publish(t, w)
	ringtest.Wait(t, "an upload does not end", func() bool { return w.UploadStall() > 100*time.Millisecond })
	publish(t, w)
	if got := w.UploadStall(); got < 100*time.Millisecond {
		t.Errorf("one more behind it: %v", got)
	}
	if err := g.open(); err != nil {
		t.Fatal(err)
	}
	ringtest.Wait(t, "the uploads end", func() bool { return w.UploadStall() == 0 })
	if s := w.Stats(); s.UploadsLost != 0 {
		t.Errorf("stats %+v", s)
	}
}

// TestUploadsLost: a GPU that fails while an upload is under way has not brought the frame.
func TestUploadsLost(t *testing.T) {
	w, g := gatedRing(t, cudatest.Use(t))
	publish(t, w)
	plan(t, "cuEventQuery=700")
	if s := w.Stats(); s.UploadsLost != 1 || s.UploadPending != 0 || w.UploadStall() != 0 {
		t.Errorf("stats %+v", s)
	}
	plan(t, "")
	if err := g.open(); err != nil {
		t.Fatal(err)
	}
}

// TestReaderClosesBesideHangingUploads: a reader in the writer's process comes away from a ring whose GPU hangs.
func TestReaderClosesBesideHangingUploads(t *testing.T) {
	ctx := cudatest.Use(t)
	w, g := gatedRing(t, ctx)
	r := openDevice(t, w.Descriptor(), gpuring.DeviceOptions{})
	lease, err := r.Lease(publish(t, w))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(lease.Release(), r.Close()); err != nil {
		t.Error(err)
	}
	if w.UploadStall() == 0 {
		t.Error("the upload has ended: this test shows nothing")
	}
	if err := g.open(); err != nil {
		t.Fatal(err)
	}
}
