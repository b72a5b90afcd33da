package gpu

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"facetrack/infer"
	"facetrack/internal/cuda"
	"facetrack/internal/cuda/captured"
	"facetrack/internal/fault"
)

// few is a small network of several steps, with branches.
func few() *infer.Graph {
	b := newNet()
	x := b.image()
	y := b.add(b.widen(b.pool(x), 12), b.point(b.depth(x, 2, prelu), 24), prelu)
	return b.outputs(b.op(infer.Logistic, b.point(y, 5)), b.conv(y, 7, 3, 1, 1, relu))
}

func inputs(n *Network, batch int, seed uint64) []infer.Buffer {
	return numbers(n.Inputs(), batch, seed, -1, 1)
}

const (
	exact = 1e-4 // of float32 results, in parts of the largest number
	rough = 5e-3 // of float16 results
)

func TestSeveralExecsAtOnce(t *testing.T) {
	b := newBench(t)
	g := few()
	n := b.network(g, Options{Precision: infer.FP32, Graphs: true})
	var all sync.WaitGroup
	for k := range 4 {
		e := b.exec(n, 3)
		all.Go(func() {
			for round := range 6 {
				batch := 1 + (round+k)%3
				in := inputs(n, batch, uint64(10*k+round))
				out := blank(n.Outputs(), batch)
				if err := e.Run(batch, in, out); err != nil {
					t.Error(err)
					return
				}
				compare(t, out, expected(t, g, batch, in), exact)
			}
		})
	}
	all.Wait()
}

// A batch size is captured once it was asked for; the graph computes the same.
func TestGraphs(t *testing.T) {
	b := newBench(t)
	g := few()
	n := b.network(g, Options{Precision: infer.FP32, Graphs: true})
	e := b.exec(n, 3)
	for _, batch := range []int{2, 3, 2, 1} {
		b.check(g, e, batch, inputs(n, batch, 5), exact)
	}
	for batch := 1; batch <= 3; batch++ {
		b.must(e.Capture(batch))
		if !e.graphs.Ready(batch) {
			t.Errorf("no graph for a batch of %d", batch)
		}
		b.check(g, e, batch, inputs(n, batch, uint64(batch)), exact)
	}
	if plainly := b.exec(b.network(g, Options{Precision: infer.FP32}), 1); plainly.graphs != nil {
		t.Error("graphs although they are switched off")
	}
}

// An Exec may be closed while a capture is under way or wanted.
func TestCloseDuringCapture(t *testing.T) {
	b := newBench(t)
	n := b.network(few(), Options{Graphs: true})
	stream, err := b.ctx.NewStream()
	b.must(err)
	for range 8 {
		e, err := n.NewExec(8)
		b.must(err)
		for batch := 8; batch > 0; batch-- {
			b.must(e.Enqueue(stream, batch))
		}
		b.must(stream.Synchronize())
		b.must(e.Close())
		b.must(e.Close())
		if err := e.Enqueue(stream, 1); !errors.Is(err, infer.ErrClosed) {
			t.Fatalf("after Close: %v", err)
		}
	}
	b.must(stream.Close())
}

// Without graphs everything goes on.
func TestCaptureThatFails(t *testing.T) {
	b := newBench(t)
	defer fault.Plan("")
	g := few()
	for _, call := range []string{"cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphInstantiateWithFlags"} {
		n := b.network(g, Options{Precision: infer.FP32, Graphs: true, Log: slog.New(slog.DiscardHandler)})
		e := b.exec(n, 2)
		fault.Plan(call + "=999")
		for range 2 {
			b.check(g, e, 2, inputs(n, 2, 1), exact)
			if e.Capture(2) == nil {
				t.Errorf("%s fails, and there is a graph", call)
			}
		}
		fault.Plan("")
	}
}

// What an Exec launches plainly fits into a capture of somebody else's.
func TestLaunchInsideACapture(t *testing.T) {
	b := newBench(t)
	g := few()
	n := b.network(g, Options{Precision: infer.FP32, Graphs: true})
	e, err := n.NewPlainExec(2)
	b.must(err)
	b.must(e.prepare())
	in, out := inputs(n, 2, 3), blank(n.Outputs(), 2)
	set, err := captured.New(b.ctx, e.Launch, nil)
	b.must(err)
	b.must(set.Capture(2))
	b.must(e.take(0, len(in[0].Host), in[0]))
	b.must(set.Launch(e.stream, 2))
	for i := range out {
		b.must(e.give(i, len(out[i].Host), out[i]))
	}
	b.must(e.stream.Synchronize())
	for i := range out {
		decode(out[i].Host, e.staging.out[i].Bytes(), 0)
	}
	compare(t, out, expected(t, g, 2, in), exact)
	if err := errors.Join(e.Launch(e.stream, 3), e.Capture(3), e.Capture(2)); !errors.Is(err, infer.ErrBadInput) {
		t.Errorf("more than there is memory for, and graphs of a plain Exec: %v", err)
	}
	b.must(set.Close())
	b.must(e.Close())
	if err := e.Launch(nil, 1); !errors.Is(err, infer.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func (b *bench) free() int64 {
	b.Helper()
	free, _, err := b.ctx.MemInfo()
	b.must(err)
	return free
}

// The order in which a network and its Execs are closed does not matter, and all memory comes back.
func TestCloseOrder(t *testing.T) {
	b := newBench(t)
	g := few()
	life := func() {
		n, err := NewNetwork(b.ctx, b.set, g, Options{Precision: infer.FP32, Graphs: true})
		b.must(err)
		e, err := n.NewExec(2)
		b.must(err)
		b.must(n.Close())
		if _, err := n.NewExec(1); !errors.Is(err, infer.ErrClosed) {
			t.Errorf("a new Exec of a closed network: %v", err)
		}
		b.check(g, e, 2, inputs(n, 2, 1), exact)
		b.must(e.Close())
		b.must(n.Close())
	}
	life() // a driver keeps for itself what it needed once
	var kept int64
	for range 5 { // other programs may use the GPU meanwhile; what a life does not give back is missing each time
		before := b.free()
		life()
		if kept = before - b.free(); kept <= 0 {
			return
		}
	}
	t.Errorf("%d bytes are not given back", kept)
}

// What does not fit is halved until it does.
func TestLittleMemory(t *testing.T) {
	b := newBench(t)
	var text bytes.Buffer
	net := newNet()
	g := net.outputs(net.point(net.input(1, 64, 64, 12), 12))
	n := b.network(g, Options{Precision: infer.FP32, Log: slog.New(slog.NewTextHandler(&text, nil))})
	_, one := n.plan.layOut(1)
	rest := int64(10*one+8<<20) >> 21 << 21
	hog, err := b.ctx.Alloc(b.free() - rest)
	b.must(err)
	defer hog.Close()
	e := b.exec(n, 64)
	if e.MaxBatch() != 8 && e.MaxBatch() != 16 {
		t.Errorf("a batch of %d; there was room for about %d items", e.MaxBatch(), rest/int64(one))
	}
	if !strings.Contains(text.String(), "not enough GPU memory") {
		t.Errorf("logged %q", text.String())
	}
	b.check(g, e, e.MaxBatch(), inputs(n, e.MaxBatch(), 1), exact)
	fault.Plan("cuMemAlloc=2")
	defer fault.Plan("")
	if _, err := n.NewExec(4); !errors.Is(err, cuda.OutOfMemory) {
		t.Errorf("without memory: %v", err)
	}
}

func TestWrongBatches(t *testing.T) {
	b := newBench(t)
	n := b.network(few(), Options{MaxBatch: 2})
	e := b.exec(n, 0)
	if e.MaxBatch() != 2 {
		t.Errorf("a batch of %d, want the network's", e.MaxBatch())
	}
	in, out := inputs(n, 2, 1), blank(n.Outputs(), 2)
	for _, batch := range []int{-1, 0, 3} {
		if err := e.Run(batch, in, out); !errors.Is(err, infer.ErrBadInput) {
			t.Errorf("batch %d: %v", batch, err)
		}
	}
	for name, err := range map[string]error{
		"inputs missing":  e.Run(2, nil, out),
		"outputs missing": e.Run(2, in, out[:1]),
		"short":           e.Run(1, in, out),
		"neither":         e.Run(2, in, []infer.Buffer{out[0], {}}),
	} {
		if !errors.Is(err, infer.ErrBadInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := n.NewExec(-1); !errors.Is(err, infer.ErrBadInput) {
		t.Errorf("largest batch -1: %v", err)
	}
}

// Inputs and outputs on the device are float32.
func TestDeviceBuffers(t *testing.T) {
	b := newBench(t)
	for _, precision := range []string{infer.FP32, infer.FP16} {
		n := b.network(few(), Options{Precision: precision})
		e := b.exec(n, 2)
		in, out, same := inputs(n, 2, 1), blank(n.Outputs(), 2), blank(n.Outputs(), 2)
		b.must(e.Run(2, in, out))
		memory, err := b.ctx.Alloc(1 << 20)
		b.must(err)
		address := memory.Address()
		place := func(buffers []infer.Buffer) (placed []infer.Buffer) {
			for _, buffer := range buffers {
				placed = append(placed, infer.Buffer{Device: address})
				address += uint64(4 * len(buffer.Host))
			}
			return placed
		}
		onDevice := place(in)
		b.must(e.stream.Upload(onDevice[0].Device, encode(nil, in[0].Host, 0)))
		results := place(out)
		b.must(e.Run(2, onDevice, results))
		for i, r := range results {
			pinned := e.staging.out[i].Bytes()[:4*len(same[i].Host)]
			b.must(e.stream.Download(pinned, r.Device))
			b.must(e.stream.Synchronize())
			decode(same[i].Host, pinned, 0)
			if !slices.Equal(same[i].Host, out[i].Host) {
				t.Errorf("%s: output %d differs from that of host buffers", precision, i)
			}
		}
		b.must(memory.Close())
	}
}
