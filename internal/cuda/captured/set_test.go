package captured

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"facetrack/internal/cuda"
	"facetrack/internal/cuda/cudatest"
	"facetrack/internal/fault"
)

// work fills n bytes of device memory with the number n, and brings them down.
type work struct {
	testing.TB
	ctx      *cuda.Context
	stream   *cuda.Stream
	memory   *cuda.Memory
	host     *cuda.Pinned
	launches atomic.Int32
	failing  error // of a launch
}

func newWork(t *testing.T) *work {
	t.Helper()
	w := &work{TB: t, ctx: cudatest.Use(t)}
	var errs [3]error
	w.stream, errs[0] = w.ctx.NewStream()
	w.memory, errs[1] = w.ctx.Alloc(1)
	w.host, errs[2] = w.ctx.AllocPinned(64)
	w.must(errs[:]...)
	t.Cleanup(func() { w.must(w.stream.Close(), w.host.Close(), w.memory.Close()) })
	return w
}

func (w *work) must(errs ...error) {
	w.Helper()
	if err := errors.Join(errs...); err != nil {
		w.Fatal(err)
	}
}

func (w *work) launch(stream *cuda.Stream, n int) error {
	w.launches.Add(1)
	return errors.Join(stream.Fill(w.memory.Address(), byte(n), int64(n)), w.failing,
		stream.Download(w.host.Bytes()[:n], w.memory.Address()))
}

func (w *work) set(log *slog.Logger) *Set {
	w.Helper()
	s, err := New(w.ctx, w.launch, log)
	w.must(err)
	w.Cleanup(func() { w.must(s.Close()) })
	return s
}

// check launches a size and looks at what it did.
func (w *work) check(s *Set, n int) {
	w.Helper()
	clear(w.host.Bytes())
	w.must(s.Launch(w.stream, n), w.stream.Synchronize())
	if want := bytes.Repeat([]byte{byte(n)}, n); !bytes.Equal(w.host.Bytes()[:n+1], append(want, 0)) {
		w.Errorf("size %d left %v", n, w.host.Bytes()[:n+1])
	}
}

// The first launch of a size is plain and has it captured; a graph does the same without another launch.
func TestLaunch(t *testing.T) {
	w := newWork(t)
	s := w.set(nil)
	for _, n := range []int{3, 5, 3, 1} {
		w.check(s, n)
	}
	for _, n := range []int{1, 3, 5, 7} { // 7 was not asked for yet
		w.must(s.Capture(n))
		if !s.Ready(n) {
			t.Errorf("no graph of size %d", n)
		}
	}
	if s.Ready(2) {
		t.Error("a graph that nobody wanted")
	}
	s.done.Wait()
	before := w.launches.Load()
	for _, n := range []int{1, 3, 5, 7, 5} {
		w.must(s.Capture(n))
		w.check(s, n)
	}
	if after := w.launches.Load(); after != before {
		t.Errorf("%d launches besides the graphs", after-before)
	}
}

// Without a graph everything goes on; the log says so once for each size.
func TestCaptureThatFails(t *testing.T) {
	w := newWork(t)
	defer fault.Plan("")
	for _, call := range []string{"cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphInstantiateWithFlags"} {
		var text bytes.Buffer
		s := w.set(slog.New(slog.NewTextHandler(&text, nil)))
		fault.Plan(call + "=999")
		for range 3 {
			w.check(s, 2)
			s.done.Wait()
		}
		if s.Ready(2) || s.Capture(2) == nil || strings.Count(text.String(), call) != 1 {
			t.Errorf("%s: ready %v, logged %q", call, s.Ready(2), text.String())
		}
		fault.Plan("")
	}
}

// What cannot be launched cannot be captured, and the stream of the captures stays usable.
func TestLaunchThatFails(t *testing.T) {
	w := newWork(t)
	s := w.set(nil)
	w.failing = errors.New("no such kernel")
	if err := s.Capture(2); !errors.Is(err, w.failing) || s.Ready(2) {
		t.Errorf("capture: %v", err)
	}
	w.failing = nil
	w.must(s.Capture(2))
	w.check(s, 2)
}

// A Set may be closed while captures are under way or wanted.
func TestClose(t *testing.T) {
	w := newWork(t)
	for range 8 {
		s := w.set(nil)
		var all sync.WaitGroup
		for n := range 16 {
			w.must(s.Launch(w.stream, n+1))
			all.Go(func() {
				if err := s.Capture(n + 1); err != nil && !errors.Is(err, cuda.ErrClosed) {
					t.Error(err)
				}
			})
		}
		w.must(w.stream.Synchronize(), s.Close(), s.Close())
		all.Wait()
		if err := s.Capture(1); !errors.Is(err, cuda.ErrClosed) {
			t.Errorf("a capture after Close: %v", err)
		}
	}
	var none *Set
	w.must(none.Close())
	fault.Plan("cuStreamCreate=2")
	defer fault.Plan("")
	if _, err := New(w.ctx, w.launch, nil); !errors.Is(err, cuda.OutOfMemory) {
		t.Errorf("without a stream: %v", err)
	}
}
