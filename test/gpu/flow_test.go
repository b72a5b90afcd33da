//go:build cuda

package gpu

import (
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"facetrack/gpuring"
)

// flow is a writer process and reader processes, with a pipe for tickets from the one to each of the others.
type flow struct {
	t       *testing.T
	faults  string
	made    order  // how the writer makes its rings
	writer  *child // nil after it was killed
	readers []*child
	ends    []*os.File // of the pipes, for writers
	sources []*os.File // of the pipes, for readers
	from    []gpuring.Descriptor
	written written
	read    []tally
	before  []tally // what the processes that were readers before have done
}

// looks is how a reader looks at each frame.
type looks struct {
	passes, pauseNS int
	sync            gpuring.Sync
}

func newFlow(t *testing.T, made order, faults string, readers ...looks) *flow {
	t.Helper()
	made.Do, made.Dir, made.Readers = "create", folder(t), len(readers)
	f := &flow{t: t, faults: faults, made: made, read: make([]tally, len(readers)), before: make([]tally, len(readers))}
	for i := range readers {
		from, to, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := unix.FcntlInt(to.Fd(), unix.F_SETPIPE_SZ, os.Getpagesize()); err != nil { // old tickets are of no use
			t.Fatal(err)
		}
		f.ends = append(f.ends, to)
		f.sources = append(f.sources, from)
		f.readers = append(f.readers, spawn(t, fmt.Sprint("reader ", i), faults, from))
		t.Cleanup(func() { _, _ = from.Close(), to.Close() })
	}
	f.newWriter()
	for i, r := range f.readers {
		r.ready()
		f.attach(i, readers[i])
	}
	return f
}

// newWriter starts a writer process, which makes the rings.
func (f *flow) newWriter() {
	f.t.Helper()
	f.writer = spawn(f.t, "writer", f.faults, f.ends...).ready()
	f.from = f.writer.ask(f.made).Descriptors
}

// attach makes a reader read the rings as they are now; one that had to end itself is started again.
func (f *flow) attach(i int, l looks) {
	f.t.Helper()
	if f.readers[i].stuck {
		f.readers[i].kill()
		f.readers[i] = spawn(f.t, fmt.Sprint("reader ", i), f.faults, f.sources[i]).ready()
		f.before[i] = f.read[i]
	}
	f.readers[i].send(order{Do: "read", From: f.from, Sync: l.sync, Passes: l.passes, PauseNS: l.pauseNS})
}

// until lets it flow until the condition holds; false when it did not within the limit.
func (f *flow) until(limit time.Duration, condition func() bool) bool {
	f.t.Helper()
	for end := time.Now().Add(limit); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
		f.look()
	}
	return true
}

func (f *flow) must(what string, condition func() bool) {
	f.t.Helper()
	if !f.until(limit, condition) {
		f.t.Fatalf("after %v still not: %s; writer %+v, readers %+v", limit, what, f.written, f.read)
	}
}

// look takes in what the processes have reported.
func (f *flow) look() {
	f.t.Helper()
	if f.writer != nil {
		if a, ok := f.writer.newest(); ok && a.Written != nil {
			f.written = *a.Written
		}
	}
	for i, r := range f.readers {
		if a, ok := r.newest(); ok && a.Read != nil {
			f.read[i] = a.Read.add(f.before[i])
		}
	}
}

func (a tally) add(b tally) tally {
	return tally{
		Rings: a.Rings, Checked: a.Checked + b.Checked, Torn: a.Torn + b.Torn, Stale: a.Stale + b.Stale, Revoked: a.Revoked + b.Revoked,
		Refused: a.Refused + b.Refused, Closed: a.Closed + b.Closed, Reopened: a.Reopened + b.Reopened,
	}
}

func (f *flow) total() (sum tally) {
	for _, r := range f.read {
		sum = sum.add(r)
	}
	return sum
}

// stall stops a reader until the writer has declared it dead, and lets it go on until it has attached anew.
func (f *flow) stall(i int) {
	f.t.Helper()
	before := f.read[i].Reopened
	f.readers[i].signal(syscall.SIGSTOP)
	f.must("the stopped reader is revoked", func() bool { return f.written.Revoked > 0 })
	f.readers[i].signal(syscall.SIGCONT)
	f.must("the woken reader has attached anew", func() bool { return f.read[i].Reopened > before })
}

// flows waits until every reader has checked more frames.
func (f *flow) flows() {
	f.t.Helper()
	f.look()
	before := slices.Clone(f.read)
	f.must("every reader checks frames", func() bool {
		for i, r := range f.read {
			if r.Checked < before[i].Checked+2 {
				return false
			}
		}
		return true
	})
}
