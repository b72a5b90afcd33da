//go:build cuda && !gpu

package ipc_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"facetrack/gpuring"
	"facetrack/ipc"
)

const aloneEnv = "FACETRACK_IPC_ALONE"

// Capture is killed while a consumer's GPU waits for an upload, which is slow here: the wait ends, and what was read
// does not count. The link itself is not to blame.
func TestCaptureKilledDuringUpload(t *testing.T) {
	for _, sync := range []gpuring.Sync{gpuring.SyncAuto, gpuring.SyncMemOps} {
		t.Run(string(sync), func(t *testing.T) {
			r := startGPURig(t, "FAKE_CUDA_COPY_NS_PER_KIB=1000000000")
			l := newLink(t, r.nc, ipc.LinkOptions{Sync: sync})
			got, err := l.Lease(t.Context(), r.order("frame"))
			if err != nil {
				t.Fatal(err)
			}
			if s := l.Status(); s.Transport != ipc.CUDAIPC {
				t.Fatalf("status %+v", s)
			}
			read := make(chan error)
			go func() {
				_, err := got.Host()
				read <- err
			}()
			r.kill()
			if err := <-read; err != nil {
				t.Errorf("the GPU: %v", err)
			}
			if err := got.Release(); !errors.Is(err, gpuring.ErrTorn) {
				t.Errorf("release: %v", err)
			}
		})
	}
}

// With plain events nothing can end the wait: the link's owner is told, to end the process. The lease stays with the
// stuck work until then. The test ends its process as well: it runs in one of its own.
func TestCaptureKilledDuringUploadWithEvents(t *testing.T) {
	if os.Getenv(aloneEnv) == "" {
		alone := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1", "-test.v") //nolint:gosec // this program
		alone.Env = append(os.Environ(), aloneEnv+"=1")
		if out, err := alone.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	r := startGPURig(t, "FAKE_CUDA_COPY_NS_PER_KIB=1000000000")
	stuck := make(chan error, 1)
	l := newLink(t, r.nc, ipc.LinkOptions{Sync: gpuring.SyncEvents, Stuck: func(err error) { stuck <- err }})
	got, err := l.Lease(t.Context(), r.order("frame"))
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = got.Host() }() // for ever
	r.kill()
	if err := <-stuck; !errors.Is(err, gpuring.ErrDevice) {
		t.Error(err)
	}
}
