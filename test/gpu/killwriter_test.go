//go:build cuda

package gpu

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"facetrack/gpuring"
	"facetrack/internal/cuda"
	"facetrack/internal/cuda/cudatest"
)

// TestKilledWriter is the second half of invariant 3: a writer is killed while it uploads large frames. What the readers
// took for good was whole; they learn of the death; the next ring has the next generation; what is old is refused.
func TestKilledWriter(t *testing.T) {
	large := gpuring.Geometry{Width: setting(t, "FACETRACK_KILL_WIDTH", largeWidth), Height: largeHeight, Format: gpuring.BGR, Slots: 4}
	crew := []looks{{passes: 1, sync: gpuring.SyncAuto}, {passes: 1, sync: gpuring.SyncMemOps}, {passes: 1, sync: gpuring.SyncEvents}}
	f := newFlow(t, order{Rings: 1, Shape: large, Upload: true, Garbage: 8}, "", crew...)
	ctx := cudatest.Use(t)
	begin := time.Now()
	var slowest time.Duration
	stuck := 0 // readers that could not but end themselves: a stream waits for an event for ever
	kills := setting(t, "FACETRACK_WRITER_KILLS", writerKills)
	for n := range kills {
		f.writer.send(order{Do: "write"})
		f.flows()
		time.Sleep(time.Duration(rand.IntN(100_000)) * time.Microsecond) // any moment
		slowest = max(slowest, f.killWriter())
		old := f.from[0]
		f.newWriter()
		if got := f.from[0].Generation; got != old.Generation+1 {
			t.Fatalf("after kill %d the ring has generation %d, want %d", n+1, got, old.Generation+1)
		}
		oldIsRefused(t, ctx, old, f.from[0])
		for i, r := range f.readers {
			if r.stuck {
				stuck++
				if crew[i].sync != gpuring.SyncEvents {
					t.Errorf("%s is stuck although it waits by memory operations", r.name)
				}
			}
			f.attach(i, crew[i])
		}
	}
	f.writer.send(order{Do: "write"})
	f.flows()
	if sum := f.total(); sum.Torn > 0 {
		t.Errorf("%d of %d frames that counted were torn", sum.Torn, sum.Checked)
	}
	if slowest > knownWithin {
		t.Errorf("it took %v until readers knew of a death, want %v at most", slowest, knownWithin)
	}
	report(t, "KilledWriter", f, time.Since(begin))
	t.Logf("RESULT {\"test\":%q,\"gpu\":%v,\"kills\":%d,\"stuck\":%d,\"known_after_max_s\":%.3f}", t.Name(), onGPU, kills, stuck, slowest.Seconds())
}

// killWriter returns how long it took until every reader knew.
func (f *flow) killWriter() time.Duration {
	f.t.Helper()
	f.look()
	w := f.writer
	f.writer = nil
	killed := time.Now()
	w.kill()
	f.must("readers know that the writer has ended", func() bool {
		for i, r := range f.read {
			if r.Rings > 0 && !f.readers[i].stuck {
				return false
			}
		}
		return true
	})
	return time.Since(killed)
}

// oldIsRefused: nobody gets at the ring of a dead writer, nor from an old ticket to a new frame.
func oldIsRefused(t *testing.T, ctx *cuda.Context, old, now gpuring.Descriptor) {
	t.Helper()
	if r, err := gpuring.OpenDevice(old, "late", gpuring.DeviceOptions{GPU: ctx}); err == nil {
		t.Error("the ring of a dead writer was opened")
		_ = r.Close()
	} else if !errors.Is(err, gpuring.ErrNotShared) && !errors.Is(err, gpuring.ErrClosed) {
		t.Errorf("opening the ring of a dead writer: %v", err)
	}
	r, err := gpuring.OpenDevice(now, "late", gpuring.DeviceOptions{GPU: ctx})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Lease(gpuring.Ticket{RingID: old.Ring, Slot: 0, Generation: 2}); !errors.Is(err, gpuring.ErrStale) {
		t.Errorf("a ticket of the old ring: %v, want ErrStale", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
