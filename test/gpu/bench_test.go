//go:build cuda

package gpu

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"facetrack/gpuring"
	"facetrack/internal/cuda"
	"facetrack/internal/cuda/cudatest"
	"facetrack/internal/kernels"
)

// bench is a ring of this process that GPU kernels fill.
type bench struct {
	t   *testing.T
	ctx *cuda.Context
	set *kernels.Set
	w   gpuring.Writer
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, ctx: cudatest.Use(t)}
	set, err := kernels.Load(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	b.set = set
	shape := small
	shape.Slots = 4
	rowBytes, rows := plane(shape)
	b.w, err = gpuring.Create(gpuring.Options{
		Dir: folder(t), Rig: "gputest", Camera: "cam0", Geometry: shape, GPU: b.ctx,
		Fill: func(s *cuda.Stream, v gpuring.View, seq uint64) error {
			return set.Stamp(s, v.Device, rowBytes, rows, seq)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(b.w.Close(), b.ctx.Synchronize(), set.Close()); err != nil {
			t.Error(err)
		}
	})
	return b
}

// publish waits for a free slot: an upload may still be under way.
func (b *bench) publish() gpuring.Ticket {
	b.t.Helper()
	for end := time.Now().Add(limit); ; time.Sleep(time.Millisecond) {
		claim, err := b.w.Begin()
		if errors.Is(err, gpuring.ErrNoFreeSlot) && time.Now().Before(end) {
			continue
		}
		if err != nil {
			b.t.Fatal(err)
		}
		ticket, err := claim.Publish(b.w.NextSeq())
		if err != nil {
			b.t.Fatal(err)
		}
		return ticket
	}
}

// work is what a holder's GPU is busy with: seconds of kernels, or copies without an end.
type work int

const (
	withKernels work = iota
	withCopies
)

// holder is a process that holds every slot, with GPU work under way.
func (b *bench) holder(with work) *child {
	b.t.Helper()
	c := spawn(b.t, "holder", "").ready()
	o := order{
		Do: "hold", From: []gpuring.Descriptor{b.w.Descriptor()}, Sync: gpuring.SyncAuto, Passes: 40, PauseNS: 50_000_000, Copies: with == withCopies,
	}
	for range b.w.Geometry().Slots {
		k := b.publish()
		o.Tickets = append(o.Tickets, ticket{Slot: k.Slot, Generation: k.Generation, Seq: k.Seq})
	}
	if got := c.ask(o).Holding; got != len(o.Tickets) {
		b.t.Fatalf("the holder has %d slots, want %d", got, len(o.Tickets))
	}
	return c
}

// wholeFrames publishes frames and checks each on the GPU.
func (b *bench) wholeFrames(n int) {
	b.t.Helper()
	r, err := gpuring.OpenDevice(b.w.Descriptor(), "witness", gpuring.DeviceOptions{GPU: b.ctx})
	if err != nil {
		b.t.Fatal(err)
	}
	stream, err := b.ctx.NewStream()
	if err != nil {
		b.t.Fatal(err)
	}
	counter, err := b.ctx.Alloc(counterBytes)
	if err != nil {
		b.t.Fatal(err)
	}
	counted, err := b.ctx.AllocPinned(counterBytes)
	if err != nil {
		b.t.Fatal(err)
	}
	rowBytes, rows := plane(b.w.Geometry())
	for range n {
		k := b.publish()
		lease, err := r.Lease(k)
		if err != nil {
			b.t.Fatal(err)
		}
		v := lease.View()
		err = errors.Join(v.Fence.Wait(stream), b.set.Check(stream, v.Device, rowBytes, rows, k.Seq, counter.Address(), 1, 0),
			stream.Download(counted.Bytes(), counter.Address()), stream.Synchronize(), lease.Release())
		if wrong := binary.LittleEndian.Uint32(counted.Bytes()); err != nil || wrong > 0 {
			b.t.Fatalf("frame %d: %d wrong tiles, %v", k.Seq, wrong, err)
		}
	}
	if err := errors.Join(r.Close(), stream.Close(), counter.Close(), counted.Close()); err != nil {
		b.t.Error(err)
	}
}
