// Package ringtest is the conformance suite of rings: every kind of pixel memory runs it.
package ringtest

import (
	"os"
	"testing"
	"time"

	"facetrack/gpuring"
)

// Factory makes rings of one kind of pixel memory.
type Factory struct {
	Create func(o gpuring.Options) (gpuring.Writer, error)
	Open   func(d gpuring.Descriptor, name string) (gpuring.Reader, error)
	// Put and Get copy a frame to and from a view; none: the view is host memory.
	Put func(v gpuring.View, frame []byte) error
	Get func(v gpuring.View, frame []byte) error
	// Stall ends a reader's heartbeat, as a hung process would.
	Stall func(r gpuring.Reader)
}

// Run runs the suite.
func Run(t *testing.T, f Factory) {
	if f.Put == nil {
		f.Put = func(v gpuring.View, frame []byte) error { copy(v.Host, frame); return nil }
		f.Get = func(v gpuring.View, frame []byte) error { copy(frame, v.Host); return nil }
	}
	for _, c := range []struct {
		name string
		run  func(*testing.T, Factory)
	}{
		{"Formats", testFormats},
		{"WrapPoints", testWrapPoints},
		{"SequenceAndPosition", testSequence},
		{"FullRing", testFullRing},
		{"Claims", testClaims},
		{"Abort", testAbort},
		{"Tickets", testTickets},
		{"RingReplaced", testRingReplaced},
		{"Leases", testLeases},
		{"SharedSlot", testSharedSlot},
		{"ReaderClose", testReaderClose},
		{"WriterClose", testWriterClose},
		{"Retired", testRetired},
		{"Revoked", testRevoked},
		{"ReadersFull", testReadersFull},
		{"Readers", testReaders},
		{"AttachLocal", testAttachLocal},
		{"InUse", testInUse},
		{"Concurrent", testConcurrent},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, f) })
	}
}

// Dir returns an empty folder, in shared memory if there is any, that is removed after the test.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(gpuring.DefaultDir, "facetrack-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// Wait polls until the condition holds; it fails the test after a deadline that no healthy machine needs.
func Wait(t testing.TB, what string, condition func() bool) {
	t.Helper()
	const deadline = time.Minute
	for end := time.Now().Add(deadline); !condition(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after %v still not: %s", deadline, what)
		}
	}
}
