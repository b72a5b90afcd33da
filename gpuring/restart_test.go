package gpuring_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"facetrack/gpuring"
	"facetrack/gpuring/ringtest"
)

var bothFiles = []string{"facetrack-lab-cam0.ctl", "facetrack-lab-cam0.pix"}

// lateWriter is a writer process that published a few frames, and two readers of it: a process that holds the last one, and this process.
func lateWriter(t *testing.T, o gpuring.Options) (writer, reader *child, local gpuring.Reader, d gpuring.Descriptor, last gpuring.Ticket) {
	t.Helper()
	writer, reader = spawn(t, gpuring.Faults{}), spawn(t, gpuring.Faults{})
	d = *writer.must(command{Do: "create", Options: &o}).Descriptor
	for range 6 {
		last = *writer.must(command{Do: "publish"}).Ticket
	}
	writer.must(command{Do: "position", N: 4711})
	reader.must(command{Do: "attach", Descriptor: &d})
	reader.must(command{Do: "hold", Tickets: []gpuring.Ticket{last}})
	local, err := gpuring.Open(d, "local")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = local.Close() })
	return writer, reader, local, d, last
}

// TestKilledWriter is the second half of invariant 3: the next writer goes on where the dead one ended, old tickets are refused.
func TestKilledWriter(t *testing.T) {
	o := options(t, small)
	writer, reader, local, d, last := lateWriter(t, o)
	if _, err := gpuring.Create(o); !errors.Is(err, gpuring.ErrInUse) || !strings.Contains(err.Error(), writer.name()) {
		t.Errorf("Create beside a live writer: %v; want ErrInUse naming %s", err, writer.name())
	}
	writer.signal(syscall.SIGKILL)
	w := afterDeath(t, o)
	if w.Generation() != d.Generation+1 || w.ID() == d.Ring {
		t.Errorf("ring %s follows %s", w.ID(), d.Ring)
	}
	if got := w.Position(); got != 4711 {
		t.Errorf("position %d, want 4711", got)
	}
	if _, err := local.Lease(last); !errors.Is(err, gpuring.ErrClosed) {
		t.Errorf("lease of the dead ring: %v, want ErrClosed", err)
	}
	if a := reader.ask(command{Do: "check"}); a.Err != "" || a.Torn {
		t.Errorf("a lease of the dead ring: %+v, want a whole frame", a)
	}
	next := publish(t, w)
	if next.Seq != last.Seq+1 {
		t.Errorf("frame %d follows frame %d", next.Seq, last.Seq)
	}
	fresh, err := w.AttachLocal("fresh")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fresh.Close() })
	if _, err := fresh.Lease(last); !errors.Is(err, gpuring.ErrStale) {
		t.Errorf("an old ticket in the new ring: %v, want ErrStale", err)
	}
	if _, err := gpuring.Open(d, "late"); !errors.Is(err, gpuring.ErrNotShared) {
		t.Errorf("Open of the old descriptor: %v, want ErrNotShared", err)
	}
	if got := names(t, o.Dir); !slices.Equal(got, bothFiles) {
		t.Errorf("files %v, want %v", got, bothFiles)
	}
	newRing := w.Descriptor()
	reader.must(command{Do: "release"})
	reader.must(command{Do: "close"})
	reader.must(command{Do: "attach", Descriptor: &newRing})
	reader.must(command{Do: "hold", Tickets: []gpuring.Ticket{next}})
	if err := w.Close(); err != nil || len(names(t, o.Dir)) != 0 {
		t.Errorf("Close: %v, files left: %v", err, names(t, o.Dir))
	}
}

// afterDeath creates the ring as soon as the kernel has ended the old writer.
func afterDeath(t *testing.T, o gpuring.Options) gpuring.Writer {
	t.Helper()
	var w gpuring.Writer
	ringtest.Wait(t, "a dead writer's camera is free", func() (ok bool) {
		var err error
		if w, err = gpuring.Create(o); err != nil && !errors.Is(err, gpuring.ErrInUse) {
			t.Fatal(err)
		}
		return err == nil
	})
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// backAfter kills a writer, and returns how long it takes until another process has published, at most limit.
func backAfter(t *testing.T, next gpuring.Faults, limit time.Duration) time.Duration {
	t.Helper()
	o := options(t, small)
	writer, _, local, _, last := lateWriter(t, o)
	start := time.Now()
	writer.signal(syscall.SIGKILL)
	successor := spawn(t, next)
	for time.Since(start) <= limit {
		if successor.ask(command{Do: "create", Options: &o}).Err == "" {
			successor.must(command{Do: "publish"})
			break
		}
	}
	took := time.Since(start)
	if _, err := local.Lease(last); took <= limit && !errors.Is(err, gpuring.ErrClosed) {
		t.Errorf("lease of the dead ring: %v, want ErrClosed", err)
	}
	return took
}

func TestWriterIsBack(t *testing.T) {
	took, ok := within(2*time.Second, func() time.Duration { return backAfter(t, gpuring.Faults{}, 2*time.Second) })
	if !ok {
		t.Errorf("the next frame came after %v, want 2s at most", took)
	}
	t.Logf("next frame after %v, start of the process included", took)
}

func TestWriterIsBackIsNoticed(t *testing.T) {
	if took := backAfter(t, gpuring.Faults{DeafToDeath: true}, time.Second); took <= time.Second {
		t.Errorf("a writer that does not notice deaths took over after %v", took)
	}
}

// A writer that bequeaths ends in order, and the next one goes on as if it had died.
func TestBequest(t *testing.T) {
	o := options(t, small)
	first, err := gpuring.Create(o)
	if err != nil {
		t.Fatal(err)
	}
	last := publish(t, first)
	reader, err := gpuring.Open(first.Descriptor(), "local")
	if err != nil {
		t.Fatal(err)
	}
	first.SetPosition(4711)
	first.Bequeath()
	if err := errors.Join(reader.Close(), first.Close()); err != nil {
		t.Fatal(err)
	}
	if left := names(t, o.Dir); !slices.Equal(left, bothFiles[:1]) {
		t.Errorf("left behind: %v, want the control block alone", left)
	}
	second, err := gpuring.Create(o)
	if err != nil {
		t.Fatal(err)
	}
	if next := publish(t, second); next.Seq != last.Seq+1 || second.Position() != 4711 || second.Generation() != first.Generation()+1 {
		t.Errorf("frame %d at position %d in generation %d after frame %d in generation %d", next.Seq, second.Position(), second.Generation(), last.Seq,
			first.Generation())
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if left := names(t, o.Dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestDeadRingCloses: without a successor, readers learn of the writer's death too.
func TestDeadRingCloses(t *testing.T) {
	writer, _, local, d, last := lateWriter(t, options(t, small))
	writer.signal(syscall.SIGKILL)
	ringtest.Wait(t, "leases are refused as closed", func() bool {
		lease, err := local.Lease(last)
		if err == nil {
			_ = lease.Release()
		}
		return errors.Is(err, gpuring.ErrClosed)
	})
	if _, err := gpuring.Open(d, "late"); !errors.Is(err, gpuring.ErrClosed) {
		t.Errorf("Open of a dead ring: %v, want ErrClosed", err)
	}
}

// TestWriterKilledAnywhere kills writers while they create, publish and close.
func TestWriterKilledAnywhere(t *testing.T) {
	o := options(t, small)
	for range 12 {
		c := spawn(t, gpuring.Faults{})
		c.must(command{Do: "churn", Options: &o})
		time.Sleep(time.Duration(rand.IntN(20_000)) * time.Microsecond)
		c.kill()
		// The kernel may give the locks of a process back a moment after somebody has waited for it: whoever looks at its /proc
		// files holds its mappings. What it leaves then goes with the writer after the next.
		var got []string
		for end := time.Now().Add(time.Second); !slices.Equal(got, bothFiles); {
			w := create(t, o)
			if got = names(t, o.Dir); !slices.Equal(got, bothFiles) && time.Now().After(end) {
				t.Fatalf("files %v, want %v", got, bothFiles)
			}
			publish(t, w)
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if got = names(t, o.Dir); len(got) != 0 {
			t.Fatalf("files left: %v", got)
		}
	}
}

// TestKilledInTheStream kills a writer at full speed: the sequence goes on without a gap and without a repetition.
func TestKilledInTheStream(t *testing.T) {
	o := options(t, small)
	for range 5 {
		c := spawn(t, gpuring.Faults{})
		c.must(command{Do: "create", Options: &o})
		c.send(command{Do: "stream"})
		var last uint64
		for range 20 + rand.IntN(50) {
			if a := c.answer(); a.Ticket != nil {
				last = a.Ticket.Seq
			}
		}
		last = max(last, c.kill())
		w := create(t, o)
		s := w.Stats()
		// The last told frame; perhaps one published and not told; perhaps one more number taken.
		if s.NextSeq < last+1 || s.NextSeq > last+3 || s.PublishedNext < last+1 || s.PublishedNext > s.NextSeq {
			t.Fatalf("told up to %d; the next writer has %+v", last, s)
		}
		if next := publish(t, w); next.Seq != s.NextSeq {
			t.Fatalf("frame %d published, want %d", next.Seq, s.NextSeq)
		}
		if err := w.Close(); err != nil { // which ends the sequence
			t.Fatal(err)
		}
	}
}

// TestOneOfManyWriters: of writers that start at once, beside nothing or after a dead one, one has the camera.
func TestOneOfManyWriters(t *testing.T) {
	const writers, rounds = 6, 4
	for round := range rounds {
		o := options(t, small)
		var want uint64
		if round%2 == 1 {
			c := spawn(t, gpuring.Faults{})
			c.must(command{Do: "create", Options: &o})
			want = c.must(command{Do: "publish"}).Ticket.Seq + 1
			c.kill()
		}
		made := make(chan gpuring.Writer, writers)
		var group sync.WaitGroup
		for range writers {
			group.Go(func() {
				w, err := gpuring.Create(o)
				if err == nil {
					made <- w
				} else if !errors.Is(err, gpuring.ErrInUse) {
					t.Errorf("Create: %v", err)
				}
			})
		}
		group.Wait()
		close(made)
		if len(made) != 1 || !slices.Equal(names(t, o.Dir), bothFiles) {
			t.Fatalf("%d of %d writers have the camera; files %v", len(made), writers, names(t, o.Dir))
		}
		w := <-made
		r, err := gpuring.Open(w.Descriptor(), "reader")
		if err != nil {
			t.Fatal(err)
		}
		if got := publish(t, w).Seq; got != want {
			t.Errorf("first frame %d, want %d", got, want)
		}
		if err := errors.Join(r.Close(), w.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
