//go:build cuda && !gpu

package gpuring_test

import (
	"errors"
	"strings"
	"testing"

	"facetrack/gpuring"
	"facetrack/gpuring/ringtest"
	"facetrack/internal/cuda/cudatest"
)

// TestNoMemoryOperations: on a GPU without them, ready words are uploaded, streams wait for events, and nothing else is offered.
func TestNoMemoryOperations(t *testing.T) {
	cudatest.Use(t)
	t.Setenv("FAKE_CUDA_NO_MEMOPS", "1") // of the children
	writer, reader := spawn(t, gpuring.Faults{}), spawn(t, gpuring.Faults{})
	o := options(t, small)
	d := writer.must(command{Do: "gpu create", Options: &o}).Descriptor
	a := reader.ask(command{Do: "gpu open", Descriptor: d, Sync: gpuring.SyncMemOps})
	if a.Err != "device" || !strings.Contains(a.Text, "no 64-bit stream memory operations") {
		t.Errorf("memory operations: %+v, want ErrDevice", a)
	}
	if a := reader.must(command{Do: "gpu open", Descriptor: d}); a.Text != string(gpuring.SyncEvents) {
		t.Errorf("sync %s, want events", a.Text)
	}
	challenge := [64]byte{9}
	cell := writer.must(command{Do: "gpu write proof", Challenge: &challenge}).N
	reader.must(command{Do: "gpu prove", N: cell, Challenge: &challenge})
	for range 2 * small.Slots {
		var a answer
		ringtest.Wait(t, "a slot is free", func() bool {
			a = writer.ask(command{Do: "publish"})
			return a.Err == ""
		})
		l := reader.must(command{Do: "gpu lease", Tickets: []gpuring.Ticket{*a.Ticket}})
		got := reader.must(command{Do: "gpu get", N: l.N, Options: &gpuring.Options{Geometry: small}})
		if !ringtest.Whole(got.Pixels, a.Ticket.Seq) {
			t.Fatalf("frame %d is torn", a.Ticket.Seq)
		}
		reader.must(command{Do: "gpu release", N: l.N})
	}
}

// TestKilledWhileCopying: the death comes inside a copy, not between two.
func TestKilledWhileCopying(t *testing.T) {
	ctx := cudatest.Use(t)
	t.Setenv("FAKE_CUDA_COPY_NS_PER_KIB", "20000000") // of the writer, whose frame takes 4.5 s
	writer := spawn(t, gpuring.Faults{})
	o := options(t, small)
	d := *writer.must(command{Do: "gpu create", Options: &o}).Descriptor
	r := openDevice(t, d, gpuring.DeviceOptions{GPU: ctx})
	ticket := *writer.must(command{Do: "publish"}).Ticket
	lease, err := r.Lease(ticket)
	if err != nil {
		t.Fatal(err)
	}
	s := openEye(t, ctx).stream
	if err := lease.View().Fence.Wait(s); err != nil {
		t.Fatal(err)
	}
	writer.kill()
	ringtest.Wait(t, "the waiting stream is let go", func() bool {
		done, err := s.Done()
		return done && err == nil
	})
	if err := lease.Release(); !errors.Is(err, gpuring.ErrTorn) {
		t.Errorf("Release: %v, want ErrTorn", err)
	}
}

// TestHangingClose: the driver frees nothing while a stream hangs. Close waits for it, and nobody else does. (A real driver may keep
// the gate from being opened.)
func TestHangingClose(t *testing.T) {
	ctx := cudatest.Use(t)
	w, g := deviceRing(t, ctx), openGate(t, ctx)
	publish(t, w)
	hanging := openEye(t, ctx).stream
	if err := hanging.WaitGEQ64(g.word.Address(), 1); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() { closed <- w.Close() }()
	ringtest.Wait(t, "the driver is to free memory", func() bool { return gpuring.Released(w) })
	if s := w.Stats(); s.Published != 1 || w.UploadStall() != 0 || w.Ready() {
		t.Errorf("stats %+v", s)
	}
	if err := errors.Join(g.open(), <-closed); err != nil {
		t.Error(err)
	}
}
