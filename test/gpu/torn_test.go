//go:build cuda

package gpu

import (
	"encoding/json"
	"testing"
	"time"

	"facetrack/gpuring"
)

// small frames make many: what is tested is the order of things, not bandwidth.
var small = gpuring.Geometry{Width: 256, Height: 144, Format: gpuring.NV12, Slots: 3}

// Fast readers, one that looks at a frame for long, and one that is stopped now and then.
func crowd(s gpuring.Sync) []looks {
	return []looks{{passes: 1, sync: s}, {passes: 1, sync: s}, {passes: 3, pauseNS: 100_000, sync: s}, {passes: 2, pauseNS: 20_000, sync: s}}
}

const stalls = 3 // index in crowd

// TestTornFrames is invariant 1 in device memory: a GPU kernel or an upload stamps every tile with its frame's number, the
// readers' kernels count tiles with another number, and no frame whose lease held has one.
func TestTornFrames(t *testing.T) {
	longest := time.Duration(setting(t, "FACETRACK_TORN_SECONDS", tornSeconds)) * time.Second
	end := time.Now().Add(longest)
	for _, c := range []struct {
		name   string
		upload bool
		sync   gpuring.Sync
		frames int
	}{
		{"StampedByTheGPU", false, gpuring.SyncAuto, setting(t, "FACETRACK_TORN_FRAMES", tornFrames)},
		{"StampedByTheGPUEvents", false, gpuring.SyncEvents, setting(t, "FACETRACK_TORN_UPLOADS", uploadFrames)},
		{"StampedByTheGPUMemOps", false, gpuring.SyncMemOps, setting(t, "FACETRACK_TORN_UPLOADS", uploadFrames)},
		{"Uploaded", true, gpuring.SyncAuto, setting(t, "FACETRACK_TORN_UPLOADS", uploadFrames)},
		{"UploadedMemOps", true, gpuring.SyncMemOps, setting(t, "FACETRACK_TORN_UPLOADS", uploadFrames)},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFlow(t, order{Rings: setting(t, "FACETRACK_TORN_RINGS", tornRings), Shape: small, Upload: c.upload}, "", crowd(c.sync)...)
			begin := time.Now()
			f.writer.send(order{Do: "write"})
			lastStall := time.Now()
			enough := func() bool { return f.total().Checked >= uint64(c.frames) }
			f.must("frames flow", func() bool { return f.read[stalls].Checked > 0 })
			f.stall(stalls)
			for !enough() && time.Now().Before(end) {
				if time.Since(lastStall) > stallEvery {
					f.stall(stalls)
					lastStall = time.Now()
				}
				f.until(stallEvery, enough)
			}
			sum := f.total()
			report(t, c.name, f, time.Since(begin))
			if sum.Torn > 0 {
				t.Errorf("%d of %d frames that counted were torn", sum.Torn, sum.Checked)
			}
			if !enough() {
				t.Errorf("%d frames checked when the %v of all runs were over, want %d", sum.Checked, longest, c.frames)
			}
			for i, r := range f.read {
				if r.Checked == 0 {
					t.Errorf("reader %d has checked nothing: %+v", i, r)
				}
			}
			if f.written.Dropped+sum.Stale == 0 || sum.Reopened == 0 {
				t.Errorf("the writer has not overtaken its readers: %+v, %+v", f.written, sum)
			}
		})
	}
}

const (
	tornSeconds = 480 // for all runs together, at most
	stallEvery  = 5 * time.Second
)

// TestTornFramesAreNoticed proves that the test above can fail: with leases switched off, torn frames are seen.
func TestTornFramesAreNoticed(t *testing.T) {
	f := newFlow(t, order{Rings: 1, Shape: small}, "leases=off", crowd(gpuring.SyncEvents)...)
	begin := time.Now()
	f.writer.send(order{Do: "write"})
	if !f.until(limit, func() bool { return f.total().Torn > 0 }) {
		t.Errorf("no frame of %d was torn although nobody minds leases", f.total().Checked)
	}
	report(t, "LeasesOff", f, time.Since(begin))
}

// report prints a line of JSON for the books.
func report(t *testing.T, name string, f *flow, took time.Duration) {
	t.Helper()
	sum := f.total()
	line, err := json.Marshal(map[string]any{
		"test": t.Name(), "run": name, "gpu": onGPU, "seconds": took.Seconds(), "published": f.written.Published, "dropped": f.written.Dropped,
		"checked": sum.Checked, "torn": sum.Torn, "stale": sum.Stale, "revoked": sum.Revoked, "refused": sum.Refused, "reattached": sum.Reopened,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("RESULT %s", line)
}
