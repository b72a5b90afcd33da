//go:build cuda

package gpu

import (
	"errors"
	"testing"
	"time"

	"facetrack/gpuring"
)

// within runs a measured action until one attempt keeps to the limit: a loaded machine may make a single one late,
// a broken mechanism makes all of them late.
func within(limit time.Duration, run func() time.Duration) (took time.Duration, ok bool) {
	for range attempts {
		if took = run(); took <= limit {
			return took, true
		}
	}
	return took, false
}

// TestKilledReader is the first half of invariant 3: a process that is killed while it holds every slot, with kernels
// queued, has none of them a second later.
func TestKilledReader(t *testing.T) {
	if mps, why := underMPS(); mps {
		t.Skipf("SKIPPED: under MPS (%s) a death in the middle of a kernel harms all others: see TestLostContext and TestKilledReaderThatCopies", why)
	}
	killedReader(t, withKernels)
}

// The same with copies under way, which do no harm to other processes, under MPS neither.
func TestKilledReaderThatCopies(t *testing.T) { killedReader(t, withCopies) }

func killedReader(t *testing.T, with work) {
	b := newBench(t)
	took, ok := within(time.Second, func() time.Duration {
		c := b.holder(with)
		if _, err := b.w.Begin(); !errors.Is(err, gpuring.ErrNoFreeSlot) {
			t.Fatalf("Begin on a full ring: %v", err)
		}
		killed := time.Now()
		if err := c.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for s := b.w.Stats(); s.Free < s.Slots && time.Since(killed) < limit; s = b.w.Stats() {
			time.Sleep(time.Millisecond)
		}
		took := time.Since(killed)
		for a := range c.answers { // until it has ended
			t.Errorf("the holder was not at work until it was killed: %s", a.Err)
		}
		b.wholeFrames(3 * b.w.Geometry().Slots)
		return took
	})
	if !ok {
		t.Errorf("the slots of a killed reader were back after %v, want 1s at most", took)
	}
	mps, _ := underMPS()
	t.Logf("RESULT {\"test\":%q,\"gpu\":%v,\"mps\":%v,\"slots_back_s\":%.3f}", t.Name(), onGPU, mps, took.Seconds())
}

// TestWriterNeverWaits is invariant 2: with every slot held and the GPU busy, Begin says so at once.
func TestWriterNeverWaits(t *testing.T) {
	b := newBench(t)
	with := withKernels
	if mps, _ := underMPS(); mps { // the holder is killed in the end
		with = withCopies
	}
	const tries = 1000
	var worst time.Duration
	took, ok := within(time.Second, func() (sum time.Duration) {
		c := b.holder(with)
		before := b.w.Stats().NoFreeSlot
		worst = 0
		for range tries {
			begin := time.Now()
			_, err := b.w.Begin()
			one := time.Since(begin)
			sum, worst = sum+one, max(worst, one)
			if !errors.Is(err, gpuring.ErrNoFreeSlot) {
				t.Fatalf("Begin on a full ring: %v", err)
			}
		}
		if counted := b.w.Stats().NoFreeSlot - before; counted != tries {
			t.Errorf("%d of %d frames without a slot were counted", counted, tries)
		}
		c.kill()
		return sum
	})
	if !ok {
		t.Errorf("%d calls of Begin on a full ring took %v", tries, took)
	}
	t.Logf("RESULT {\"test\":%q,\"gpu\":%v,\"begin_mean_us\":%.2f,\"begin_max_us\":%.1f}", t.Name(), onGPU,
		float64(took.Microseconds())/tries, float64(worst.Nanoseconds())/1000)
}
