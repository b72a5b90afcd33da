package gpuring_test

import (
	"errors"
	"testing"
	"time"

	"facetrack/gpuring"
	"facetrack/gpuring/ringtest"
	"facetrack/internal/cuda"
	"facetrack/internal/cuda/cudatest"
)

// TestClosedDeviceRing: a ring that is gone answers, without a look at the upload that nobody has seen the end of.
func TestClosedDeviceRing(t *testing.T) {
	w := deviceRing(t, cudatest.Use(t))
	publish(t, w)
	for _, end := range []func() error{w.Retire, w.Close, w.Close} {
		if err := end(); err != nil || w.Ready() {
			t.Errorf("%v, ready %v", err, w.Ready())
		}
	}
	if s := w.Stats(); s.Published != 1 || w.UploadStall() != 0 || w.CallStall() != 0 {
		t.Errorf("stats %+v", s)
	}
}

// TestUploadsThatOutliveClose: what they may touch stays until they have ended.
func TestUploadsThatOutliveClose(t *testing.T) {
	w, g := gatedRing(t, cudatest.Use(t))
	publish(t, w)
	for range 3 { // the second does not wait again
		if err := w.Close(); !errors.Is(err, gpuring.ErrUploading) {
			t.Errorf("%v, want ErrUploading", err)
		}
	}
	if err := g.open(); err != nil {
		t.Fatal(err)
	}
	ringtest.Wait(t, "the ring is freed", func() bool {
		err := w.Close()
		if err != nil && !errors.Is(err, gpuring.ErrUploading) {
			t.Error(err)
		}
		return err == nil
	})
}

// TestCallStall: a call that does not come back is seen by those that it does not keep.
func TestCallStall(t *testing.T) {
	enter, leave := make(chan struct{}), make(chan struct{})
	o := options(t, small)
	o.GPU = cudatest.Use(t)
	o.Fill = func(*cuda.Stream, gpuring.View, uint64) error {
		close(enter)
		<-leave
		return nil
	}
	w := create(t, o)
	if got := w.CallStall(); got != 0 {
		t.Errorf("a new ring: %v", got)
	}
	published := make(chan error, 1)
	go func() {
		_, err := publishPattern(w)
		published <- err
	}()
	<-enter
	ringtest.Wait(t, "the call is long", func() bool { return w.CallStall() > 50*time.Millisecond })
	close(leave)
	if err := <-published; err != nil {
		t.Error(err)
	}
	if got := w.CallStall(); got != 0 {
		t.Errorf("after the call: %v", got)
	}
}
