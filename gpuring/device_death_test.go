package gpuring_test

import (
	"bytes"
	"errors"
	"syscall"
	"testing"
	"time"

	"facetrack/gpuring"
	"facetrack/gpuring/ringtest"
	"facetrack/internal/cuda"
	"facetrack/internal/cuda/cudatest"
)

// openDevice opens a reader in this process.
func openDevice(t *testing.T, d gpuring.Descriptor, o gpuring.DeviceOptions) gpuring.DeviceReader {
	t.Helper()
	r, err := gpuring.OpenDevice(d, "reader", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r.(gpuring.DeviceReader)
}

// cutOff is a writer process whose second frame stops in the middle of its upload, and a lease of that frame here.
type cutOff struct {
	writer *child
	reader gpuring.DeviceReader
	lease  gpuring.Lease
	seq    uint64
	stream *cuda.Stream
	frame  *cuda.Pinned // what a consumer's stream reads behind the fence
}

func newCutOff(t *testing.T, ctx *cuda.Context, sync gpuring.Sync, reader gpuring.Faults) *cutOff {
	t.Helper()
	c := &cutOff{writer: spawn(t, gpuring.Faults{})}
	o := options(t, small)
	d := c.writer.must(command{Do: "gpu create", Options: &o, N: 1}).Descriptor
	defer gpuring.Inject(reader)()
	c.reader = openDevice(t, *d, gpuring.DeviceOptions{GPU: ctx, Sync: sync})
	c.writer.must(command{Do: "publish"})
	ticket := *c.writer.must(command{Do: "publish"}).Ticket
	var errs [4]error
	c.seq = ticket.Seq
	c.lease, errs[0] = c.reader.Lease(ticket)
	c.stream, errs[1] = ctx.NewStream()
	c.frame, errs[2] = ctx.AllocPinned(small.FrameBytes())
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	clear(c.frame.Bytes())
	v := c.lease.View()
	errs[0] = v.Fence.Wait(c.stream) // returns although the frame is not there
	errs[1] = c.stream.Download(c.frame.Bytes(), v.Device)
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(c.stream.Close(), c.frame.Close()); err != nil {
			t.Error(err)
		}
	})
	return c
}

func (c *cutOff) over(t *testing.T) bool {
	t.Helper()
	done, err := c.stream.Done()
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// TestUploadCutOff: a writer dies in the middle of an upload. The stream that waits for it is let go, and what it read does
// not count.
func TestUploadCutOff(t *testing.T) {
	ctx := cudatest.Use(t)
	for _, sync := range []gpuring.Sync{gpuring.SyncAuto, gpuring.SyncMemOps} {
		t.Run(string(sync), func(t *testing.T) {
			c := newCutOff(t, ctx, sync, gpuring.Faults{})
			if c.over(t) {
				t.Fatal("a stream did not wait for a frame that is not there")
			}
			c.writer.kill()
			ringtest.Wait(t, "the waiting stream is let go", func() bool { return c.over(t) })
			if ringtest.Whole(c.frame.Bytes(), c.seq) {
				t.Error("the frame is whole: this test shows nothing")
			}
			if err := c.lease.Release(); !errors.Is(err, gpuring.ErrTorn) {
				t.Errorf("Release: %v, want ErrTorn", err)
			}
		})
	}
}

// TestUploadGivenUp: the writer lives, but its GPU does not finish, and it closes the ring.
func TestUploadGivenUp(t *testing.T) {
	c := newCutOff(t, cudatest.Use(t), gpuring.SyncAuto, gpuring.Faults{})
	if a := c.writer.ask(command{Do: "gpu end writer"}); a.Err != "device" {
		t.Errorf("closing a ring whose uploads do not end: %+v, want ErrDevice", a)
	}
	ringtest.Wait(t, "the waiting stream is let go", func() bool { return c.over(t) })
	if err := c.lease.Release(); !errors.Is(err, gpuring.ErrTorn) {
		t.Errorf("Release: %v, want ErrTorn", err)
	}
}

// TestCloseBesideABlockedStream: freeing memory waits for the streams of the device, so that closing a reader is put off while
// one of them waits for a dead writer.
func TestCloseBesideABlockedStream(t *testing.T) {
	ctx := cudatest.Use(t)
	c := newCutOff(t, ctx, gpuring.SyncAuto, gpuring.Faults{NoPoison: true})
	other := spawn(t, gpuring.Faults{})
	o := options(t, small)
	d := other.must(command{Do: "gpu create", Options: &o}).Descriptor
	second := openDevice(t, *d, gpuring.DeviceOptions{GPU: ctx})
	c.writer.kill()
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if c.over(t) {
		t.Error("Close waited for another reader's stream")
	}
	gpuring.Poison(c.reader)
	ringtest.Wait(t, "the waiting stream is let go", func() bool { return c.over(t) })
	if err := c.lease.Release(); !errors.Is(err, gpuring.ErrTorn) {
		t.Errorf("Release: %v, want ErrTorn", err)
	}
}

// TestClosedReaderIsLetGo: a reader that was closed with a stream at its fence still sees to that stream.
func TestClosedReaderIsLetGo(t *testing.T) {
	c := newCutOff(t, cudatest.Use(t), gpuring.SyncAuto, gpuring.Faults{})
	c.writer.kill()
	if err := c.reader.Close(); err != nil {
		t.Fatal(err)
	}
	ringtest.Wait(t, "the waiting stream is let go", func() bool { return c.over(t) })
	if err := c.lease.Release(); !errors.Is(err, gpuring.ErrClosed) {
		t.Errorf("Release: %v, want ErrClosed", err)
	}
}

// TestUploadCutOffIsNoticed: without the proof, half a frame counts.
func TestUploadCutOffIsNoticed(t *testing.T) {
	c := newCutOff(t, cudatest.Use(t), gpuring.SyncMemOps, gpuring.Faults{NoProof: true})
	c.writer.kill()
	ringtest.Wait(t, "the waiting stream is let go", func() bool {
		gpuring.Poison(c.reader)
		return c.over(t)
	})
	if err := c.lease.Release(); err != nil || ringtest.Whole(c.frame.Bytes(), c.seq) {
		t.Errorf("Release without a proof: %v; want half a frame called valid", err)
	}
}

// TestPoisonIsNeeded: without it, the stream of a consumer waits for ever.
func TestPoisonIsNeeded(t *testing.T) {
	c := newCutOff(t, cudatest.Use(t), gpuring.SyncMemOps, gpuring.Faults{NoPoison: true})
	c.writer.kill()
	time.Sleep(time.Second) // ten heartbeats
	if c.over(t) {
		t.Error("the stream went on by itself")
	}
	gpuring.Poison(c.reader)
	ringtest.Wait(t, "the waiting stream is let go", func() bool { return c.over(t) })
	if err := c.lease.Release(); !errors.Is(err, gpuring.ErrTorn) {
		t.Errorf("Release: %v, want ErrTorn", err)
	}
}

// TestNotWaitedFor: a consumer that gives a lease back before its stream has come past the fence gets no result.
func TestNotWaitedFor(t *testing.T) {
	ctx := cudatest.Use(t)
	g := openGate(t, ctx)
	o := options(t, small)
	o.GPU, o.Fill = ctx, g.halfFrom(0)
	w := create(t, o)
	r := openDevice(t, w.Descriptor(), gpuring.DeviceOptions{Sync: gpuring.SyncMemOps})
	lease, err := r.Lease(publish(t, w))
	if err != nil {
		t.Fatal(err)
	}
	s := openEye(t, ctx).stream
	if err := lease.View().Fence.Wait(s); err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(); !errors.Is(err, gpuring.ErrTorn) {
		t.Errorf("Release: %v, want ErrTorn", err)
	}
	if err := lease.View().Fence.Wait(s); !errors.Is(err, gpuring.ErrReleased) {
		t.Errorf("Wait after Release: %v, want ErrReleased", err)
	}
	if err := errors.Join(g.open(), s.Synchronize()); err != nil {
		t.Fatal(err)
	}
}

// TestStuckEvents: with events alone there is no way out, and the consumer is told. It runs in a process that can be ended.
func TestStuckEvents(t *testing.T) {
	cudatest.Use(t)
	writer, reader := spawn(t, gpuring.Faults{}), spawn(t, gpuring.Faults{})
	o := options(t, small)
	d := writer.must(command{Do: "gpu create", Options: &o, N: 1}).Descriptor
	reader.must(command{Do: "gpu open", Descriptor: d, Sync: gpuring.SyncEvents})
	writer.must(command{Do: "publish"})
	ticket := *writer.must(command{Do: "publish"}).Ticket
	reader.must(command{Do: "gpu lease", Tickets: []gpuring.Ticket{ticket}})
	reader.must(command{Do: "gpu wait"})
	writer.kill()
	if a := reader.ask(command{Do: "gpu stuck"}); a.Err != "device" {
		t.Errorf("Stuck was called with %+v, want ErrDevice", a)
	}
	if a := reader.ask(command{Do: "gpu release"}); a.Err != "torn" {
		t.Errorf("Release: %+v, want ErrTorn", a)
	}
}

// TestKilledDeviceReader: its slots come back, as those of a host reader do.
func TestKilledDeviceReader(t *testing.T) {
	ctx := cudatest.Use(t)
	o := options(t, small)
	o.GPU = ctx
	w := create(t, o)
	c, d := spawn(t, gpuring.Faults{}), w.Descriptor()
	c.must(command{Do: "gpu open", Descriptor: &d})
	for range small.Slots {
		c.must(command{Do: "gpu lease", Tickets: []gpuring.Ticket{publish(t, w)}})
	}
	for i := range small.Slots {
		c.must(command{Do: "gpu wait", N: i})
	}
	if _, err := w.Begin(); !errors.Is(err, gpuring.ErrNoFreeSlot) {
		t.Fatalf("Begin on a full ring: %v", err)
	}
	c.signal(syscall.SIGKILL)
	ringtest.Wait(t, "the slots are back", func() bool {
		s := w.Stats()
		return s.Free == s.Slots && s.ReclaimedDead == uint64(small.Slots)
	})
	publish(t, w)
}

// TestKilledDeviceWriter: whole frames of the dead ring count, its successor goes on with the numbers, old tickets are refused,
// and the old memory is let go.
func TestKilledDeviceWriter(t *testing.T) {
	ctx := cudatest.Use(t)
	e := openEye(t, ctx)
	o := options(t, small)
	writer := spawn(t, gpuring.Faults{})
	old := *writer.must(command{Do: "gpu create", Options: &o}).Descriptor
	r := openDevice(t, old, gpuring.DeviceOptions{GPU: ctx})
	ticket := *writer.must(command{Do: "publish"}).Ticket
	lease, err := r.Lease(ticket)
	if err != nil {
		t.Fatal(err)
	}
	frame := make([]byte, small.FrameBytes())
	if err := e.get(lease.View(), frame); err != nil || !ringtest.Whole(frame, ticket.Seq) {
		t.Fatalf("frame of a living writer: %v", err)
	}
	writer.kill()
	o.GPU = ctx
	w := afterDeath(t, o)
	if got := publish(t, w).Seq; got != ticket.Seq+1 {
		t.Errorf("frame %d follows frame %d", got, ticket.Seq)
	}
	if _, err := r.Lease(ticket); !errors.Is(err, gpuring.ErrClosed) {
		t.Errorf("lease of the dead ring: %v, want ErrClosed", err)
	}
	if err := lease.Release(); err != nil {
		t.Errorf("a whole frame of a dead writer: %v", err)
	}
	ringtest.Wait(t, "the dead ring's memory is let go", func() bool { return !gpuring.Maps(r) })
	if _, err := gpuring.OpenDevice(old, "late", gpuring.DeviceOptions{GPU: ctx}); !errors.Is(err, gpuring.ErrNotShared) {
		t.Errorf("OpenDevice of the old ring: %v, want ErrNotShared", err)
	}
	fresh := openDevice(t, w.Descriptor(), gpuring.DeviceOptions{GPU: ctx})
	next := publish(t, w)
	if lease, err = fresh.Lease(next); err != nil {
		t.Fatal(err)
	}
	if err := e.get(lease.View(), frame); err != nil || !ringtest.Whole(frame, next.Seq) {
		t.Errorf("frame of the new writer: %v", err)
	}
	if err := lease.Release(); err != nil {
		t.Error(err)
	}
}

// TestDeviceRingCloses: readers without leases let go as soon as they notice, those with leases are not waited for without end.
func TestDeviceRingCloses(t *testing.T) {
	ctx := cudatest.Use(t)
	o := options(t, small)
	o.GPU = ctx
	w, err := gpuring.Create(o)
	if err != nil {
		t.Fatal(err)
	}
	d, c := w.Descriptor(), spawn(t, gpuring.Faults{})
	for range 2 {
		c.must(command{Do: "gpu open", Descriptor: &d})
	}
	local := openDevice(t, d, gpuring.DeviceOptions{})
	ticket := publish(t, w)
	c.must(command{Do: "gpu lease", N: 1, Tickets: []gpuring.Ticket{ticket}})
	lease, err := local.Lease(ticket)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	frame := make([]byte, small.FrameBytes())
	if err := openEye(t, ctx).get(lease.View(), frame); err != nil || !ringtest.Whole(frame, ticket.Seq) {
		t.Errorf("a lease in the writer's process after Close: %v", err)
	}
	if !bytes.Equal(frame, lease.View().Host) {
		t.Error("host and device memory differ")
	}
	if err := lease.Release(); err != nil {
		t.Error(err)
	}
	ringtest.Wait(t, "the reader without leases has let go", func() bool { return c.must(command{Do: "gpu maps"}).N == 0 })
	if a := c.ask(command{Do: "gpu lease", Tickets: []gpuring.Ticket{ticket}}); a.Err != "closed" {
		t.Errorf("lease after Close: %+v", a)
	}
	if c.must(command{Do: "gpu maps", N: 1}).N == 0 {
		t.Error("memory went under a lease")
	}
	c.must(command{Do: "gpu release"})
	ringtest.Wait(t, "the other reader has let go", func() bool { return c.must(command{Do: "gpu maps", N: 1}).N == 0 })
	c.must(command{Do: "gpu close"})
	c.must(command{Do: "gpu close", N: 1})
	c.must(command{Do: "gpu end"})
}

// TestCloseWaitsForImporters: device memory is not freed before a reader that can let go has done so.
func TestCloseWaitsForImporters(t *testing.T) {
	ctx := cudatest.Use(t)
	o := options(t, small)
	o.GPU = ctx
	c := spawn(t, gpuring.Faults{})
	const runs = 3 // a loaded machine may make a single heartbeat late
	for n := range runs {
		w := create(t, o)
		d := w.Descriptor()
		c.must(command{Do: "gpu open", Descriptor: &d})
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if c.must(command{Do: "gpu maps", N: n}).N == 0 {
			return
		}
	}
	t.Error("Close did not wait for a reader that has the memory imported")
}

func free(t *testing.T, ctx *cuda.Context) int64 {
	t.Helper()
	bytes, _, err := ctx.MemInfo()
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// TestDeviceMemoryIsBack: rings, readers, proofs and a killed reader leave no device memory behind.
func TestDeviceMemoryIsBack(t *testing.T) {
	ctx := cudatest.Use(t)
	round := func() {
		o := options(t, small)
		o.GPU = ctx
		w, err := gpuring.Create(o)
		if err != nil {
			t.Fatal(err)
		}
		d, c := w.Descriptor(), spawn(t, gpuring.Faults{})
		local, err := gpuring.OpenDevice(d, "local", gpuring.DeviceOptions{})
		if err != nil {
			t.Fatal(err)
		}
		c.must(command{Do: "gpu open", Descriptor: &d})
		c.must(command{Do: "gpu lease", Tickets: []gpuring.Ticket{publish(t, w)}})
		cell, err := w.(gpuring.DeviceWriter).WriteProof([64]byte{1})
		if err := errors.Join(err, local.(gpuring.DeviceReader).Prove(cell, [64]byte{1})); err != nil {
			t.Fatal(err)
		}
		if used := w.Stats().DeviceBytes; used < int64(small.Slots*small.FrameBytes()) || used%(2<<20) != 0 {
			t.Fatalf("%d bytes of device memory", used)
		}
		c.kill()
		if err := errors.Join(local.Close(), w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	round() // what the driver takes once and keeps
	before := free(t, ctx)
	for range 5 {
		round()
	}
	ringtest.Wait(t, "device memory is back", func() bool { return free(t, ctx) >= before })
}
