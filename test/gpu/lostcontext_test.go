//go:build cuda

package gpu

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"facetrack/gpuring"
)

// TestLostContext is what happens under MPS when a reader is killed while its kernel runs: all other processes lose their
// contexts. Each says so, and nothing that was torn has counted. TestLostContexts in test/e2e shows how a rig goes on.
func TestLostContext(t *testing.T) {
	sign := filepath.Join(t.TempDir(), "gpu-failed")
	if mps, why := underMPS(); onGPU && !mps {
		t.Skipf("SKIPPED: only under MPS do others lose their contexts (%s): scripts/gpu-check.sh mps", why)
	}
	t.Setenv("FAKE_CUDA_FAIL", sign) // the imitated driver does not do it by itself
	slow := looks{passes: 10, pauseNS: 50_000_000, sync: gpuring.SyncAuto}
	crew := []looks{slow, {passes: 1, sync: gpuring.SyncAuto}, {passes: 1, sync: gpuring.SyncMemOps}}
	f := newFlow(t, order{Rings: 1, Shape: small}, "", crew...)
	begin := time.Now()
	f.writer.send(order{Do: "write"})
	f.flows()
	f.readers[0].kill()
	if err := os.WriteFile(sign, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f.writer.mustHaveLost()
	for i, r := range f.readers[1:] {
		r.send(order{Do: "stop"}) // no more frames come, so that it may not have noticed
		f.read[i+1] = r.mustHaveLost()
		if sums := f.read[i+1]; sums.Torn > 0 || sums.Checked == 0 {
			t.Errorf("%s: %+v", r.name, sums)
		}
	}
	report(t, "LostContext", f, time.Since(begin))
}

// mustHaveLost waits until the process says that its context is lost, and returns what it had read.
func (c *child) mustHaveLost() (read tally) {
	c.t.Helper()
	for end := time.After(limit); ; {
		select {
		case a, open := <-c.answers:
			switch {
			case !open:
				c.t.Fatalf("%s ended", c.name)
			case a.Read != nil:
				read = *a.Read
			}
			if a.Err == "" {
				continue
			}
			if !strings.Contains(a.Err, "the process must be restarted") {
				c.t.Errorf("%s does not say that only a new process helps: %s", c.name, a.Err)
			}
			return read
		case <-end:
			c.t.Fatalf("%s does not notice that its context is lost", c.name)
		}
	}
}
