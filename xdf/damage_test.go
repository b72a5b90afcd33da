package xdf

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"facetrack/lsl"
	"facetrack/xdf/xdftest"
)

// A file that ends anywhere holds all chunks that end before.
func TestFileCutAnywhere(t *testing.T) {
	file, w, s := begin(t, Options{ChunkSamples: 2})
	for i := range 10 {
		must(t, s.Push(float64(i+1), []float32{0}))
	}
	must(t, w.Close())
	whole := xdftest.MustParse(t, file.Bytes())
	for n := range file.Len() {
		r, err := xdftest.Parse(file.Bytes()[:n])
		if slices.Contains(whole.Ends, n) != (err == nil) || err != nil && !errors.Is(err, xdftest.ErrCut) {
			t.Fatalf("cut at %d of %d: %v", n, file.Len(), err)
		}
		if len(r.Streams) > 0 && len(r.Streams[0].Samples) != 2*len(r.Streams[0].Chunks) {
			t.Fatalf("cut at %d: %d samples in %d chunks", n, len(r.Streams[0].Samples), len(r.Streams[0].Chunks))
		}
	}
}

// Behind the first boundary after the damage a reader finds chunks again.
func TestBoundaryIsFound(t *testing.T) {
	file, w, s := begin(t, Options{ChunkSamples: 1, BoundaryInterval: time.Nanosecond})
	must(t, s.Push(1, []float32{0}))
	must(t, s.Push(2, []float32{0}))
	must(t, w.Close())
	b := file.Bytes()
	b[xdftest.MustParse(t, b).Ends[3]] = 77 // a chunk's length
	at := bytes.Index(b, boundary) + len(boundary)
	at += bytes.Index(b[at:], boundary) + len(boundary)
	if length, chunk := b[at+1], b[at+2:]; b[at] != 1 || int(length) > len(chunk) || !bytes.HasPrefix(chunk, []byte{byte(tagSamples), 0, 1, 0, 0, 0}) {
		t.Error("no chunk of samples behind a boundary")
	}
}

// child runs the named test in a process of its own, which finds the path in its environment.
func child(t *testing.T, path string) ([]byte, error) {
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$") //nolint:gosec // this test binary
	cmd.Env = append(os.Environ(), "FACETRACK_TEST_XDF="+path)
	return cmd.CombinedOutput()
}

func TestKilledProcessLosesNothingWritten(t *testing.T) {
	if path := os.Getenv("FACETRACK_TEST_XDF"); path != "" {
		w, err := Create(path, Options{ChunkTime: time.Hour})
		must(t, err)
		s, err := w.AddStream(info("gaze", lsl.Float32, 1))
		must(t, err)
		for i := range 2500 { // two chunks by count, one by Flush, one sample lost
			must(t, s.Push(float64(i+1), []float32{0}))
		}
		must(t, w.Flush())
		must(t, s.Push(9999, []float32{0}))
		must(t, syscall.Kill(os.Getpid(), syscall.SIGKILL))
		select {}
	}
	path := filepath.Join(t.TempDir(), "a.xdf")
	if out, err := child(t, path); err == nil || len(out) > 0 {
		t.Fatalf("the child was not killed: %v\n%s", err, out)
	}
	file, err := os.ReadFile(path)
	must(t, err)
	if s := xdftest.MustParse(t, file).Streams[0]; len(s.Samples) != 2500 || s.Footer != nil {
		t.Errorf("%d samples, footer %v", len(s.Samples), s.Footer)
	}
}

const limitBytes = 100_001

// The child records under a file size limit, which the kernel enforces as a full disk would: it cuts a write short.
func TestFullDiskKeepsWholeChunks(t *testing.T) {
	if path := os.Getenv("FACETRACK_TEST_XDF"); path != "" {
		recordUntilFull(t, path)
		return
	}
	path := filepath.Join(t.TempDir(), "a.xdf")
	if out, err := child(t, path); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	file, err := os.ReadFile(path)
	must(t, err)
	s := xdftest.MustParse(t, file).Streams[0]
	if len(s.Samples) != 7000 || s.Footer != nil || len(file) > limitBytes {
		t.Errorf("%d samples in %d bytes", len(s.Samples), len(file))
	}
}

func recordUntilFull(t *testing.T, path string) {
	limit := syscall.Rlimit{Cur: limitBytes, Max: limitBytes}
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
	w, err := Create(path, Options{ChunkTime: time.Hour})
	must(t, err)
	s, err := w.AddStream(info("gaze", lsl.Float32, 1))
	must(t, err)
	for i := 0; err == nil && i < 20_000; i++ {
		err = s.Push(float64(i+1), []float32{0})
	}
	if !errors.Is(err, ErrStopped) || !errors.Is(err, syscall.EFBIG) ||
		!strings.Contains(err.Error(), `stream "gaze" (id 1)`) || !strings.Contains(err.Error(), "7000 samples are safe") || !strings.Contains(err.Error(), path) {
		t.Errorf("error is %v", err)
	}
	for what, later := range map[string]error{
		"push": s.Push(1, []float32{0}), "offset": s.ClockOffset(1, 1), "flush": w.Flush(), "stream": s.Close(), "close": w.Close(), "again": w.Close(),
	} {
		if later == nil || later.Error() != err.Error() {
			t.Errorf("%s after it: %v", what, later)
		}
	}
}

// broken takes some writes and then half of one.
type broken struct {
	left int
	err  error
}

func (b *broken) Write(p []byte) (int, error) {
	if b.left--; b.left < 0 {
		return len(p) / 2, b.err
	}
	return len(p), nil
}

func TestFailedWrites(t *testing.T) {
	for at, what := range []string{"file header", `stream "gaze" (id 1)`, "boundary", `stream "gaze" (id 1)`} {
		for _, cause := range []error{syscall.ENOSPC, nil} { // nil: a short write without a word
			err := recordInto(t, &broken{left: at, err: cause})
			want := cause
			if cause == nil {
				want = io.ErrShortWrite
			}
			if !errors.Is(err, ErrStopped) || !errors.Is(err, want) || !strings.Contains(err.Error(), what) ||
				strings.Contains(err.Error(), "free space") != (cause != nil) {
				t.Errorf("write %d, %v: %v", at, cause, err)
			}
		}
	}
}

// recordInto returns the first error. Later ones have to be the same.
func recordInto(t *testing.T, to io.Writer) error {
	w, first := NewWriter(to, Options{ChunkSamples: 1})
	if first != nil {
		return first
	}
	s, first := w.AddStream(info("gaze", lsl.Int8, 1))
	if first == nil {
		w.out.marked = time.Time{} // a boundary is due
		first = s.PushInt8(1, []int8{1})
		if second := s.PushInt8(2, []int8{1}); second == nil || second.Error() != first.Error() {
			t.Errorf("%v, then %v", first, second)
		}
	}
	if last := w.Close(); last == nil || last.Error() != first.Error() {
		t.Errorf("%v, then %v from Close", first, last)
	}
	return first
}
