package gpu

import (
	"errors"
	"fmt"

	"facetrack/infer"
	"facetrack/internal/cuda"
	"facetrack/internal/cuda/captured"
)

// Exec runs a network on memory and a stream of its own. It is used by one goroutine at a time.
type Exec struct {
	net      *Network
	maxBatch int
	arena    *cuda.Memory
	stream   *cuda.Stream
	runner   run           // of this Exec's memory; the stream and the batch are set for each run
	graphs   *captured.Set // nil: kernels are launched one by one
	staging  *staging
	closed   bool
}

// NewExec makes room for batches of up to maxBatch items; 0 is the network's MaxBatch. If the device has not enough memory, MaxBatch of
// the Exec is a half, a quarter, … of that.
func (n *Network) NewExec(maxBatch int) (*Exec, error) { return n.newExec(maxBatch, n.options.Graphs) }

// NewPlainExec is NewExec for an Exec that launches its kernels one by one: for callers who capture Launch with work of their own.
func (n *Network) NewPlainExec(maxBatch int) (*Exec, error) { return n.newExec(maxBatch, false) }

func (n *Network) newExec(maxBatch int, graphs bool) (*Exec, error) {
	if maxBatch == 0 {
		maxBatch = n.options.MaxBatch
	}
	if maxBatch < 0 {
		return nil, fmt.Errorf("%w: largest batch %d", infer.ErrBadInput, maxBatch)
	}
	if err := n.join(); err != nil {
		return nil, err
	}
	e := &Exec{net: n, maxBatch: max(maxBatch, 1)}
	err := e.allocate()
	if err == nil && graphs {
		e.graphs, err = captured.New(n.ctx, e.launch, n.options.Log)
	}
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func (e *Exec) allocate() (err error) {
	if e.stream, err = e.net.ctx.NewStream(); err != nil {
		return err
	}
	wanted := e.maxBatch
	e.maxBatch = min(e.maxBatch, e.net.plan.mostItems())
	offsets, err := e.fit()
	if err != nil {
		return err
	}
	if e.maxBatch < wanted {
		e.net.options.Log.Warn("not enough GPU memory for this batch size: a smaller one is used",
			"network", e.net.name, "wanted", wanted, "used", e.maxBatch)
	}
	addresses := append([]uint64(nil), e.net.addresses...)
	for i, b := range e.net.plan.buffers {
		if b.constant == nil {
			addresses[i] = e.arena.Address() + uint64(offsets[i])
		}
	}
	e.runner = run{set: e.net.set, addresses: addresses, plan: e.net.plan}
	return nil
}

// fit takes the arena for the largest batch that there is memory for.
func (e *Exec) fit() ([]int, error) {
	for {
		offsets, total := e.net.plan.layOut(e.maxBatch)
		arena, err := e.net.ctx.Alloc(int64(total))
		if err == nil {
			e.arena = arena
			return offsets, nil
		}
		if !errors.Is(err, cuda.OutOfMemory) || e.maxBatch == 1 {
			return nil, fmt.Errorf("memory for a batch of %d: %w", e.maxBatch, err)
		}
		e.maxBatch /= 2
	}
}

// MaxBatch is the largest batch that there is memory for.
func (e *Exec) MaxBatch() int { return e.maxBatch }

// Network is what the Exec runs.
func (e *Exec) Network() *Network { return e.net }

// Input is the device address of an input: MaxBatch items in the network's InputPrecision, one after the other.
func (e *Exec) Input(i int) uint64 { return e.runner.at(e.net.plan.in[i]) }

// Output is the device address of an output: MaxBatch items of float32.
func (e *Exec) Output(i int) uint64 { return e.runner.at(e.net.plan.out[i]) }

// Enqueue queues a run of the first batch items at Input and returns. What writes the inputs or reads the outputs has to be in the
// same stream, or in order with it.
func (e *Exec) Enqueue(stream *cuda.Stream, batch int) error {
	if err := e.check(batch); err != nil {
		return err
	}
	if e.graphs != nil {
		return e.graphs.Launch(stream, batch)
	}
	return e.launch(stream, batch)
}

// Launch is Enqueue without a graph, so that a capture of the caller's can hold it. Other goroutines may call it too.
func (e *Exec) Launch(stream *cuda.Stream, batch int) error {
	if err := e.check(batch); err != nil {
		return err
	}
	return e.launch(stream, batch)
}

// Capture returns when Enqueue launches batches of this size as one graph.
func (e *Exec) Capture(batch int) error {
	if err := e.check(batch); err != nil {
		return err
	}
	if e.graphs == nil {
		return fmt.Errorf("%w: this Exec has no graphs", infer.ErrBadInput)
	}
	return e.graphs.Capture(batch)
}

func (e *Exec) check(batch int) error {
	if e.closed {
		return infer.ErrClosed
	}
	if batch < 1 || batch > e.maxBatch {
		return fmt.Errorf("%w: batch of %d; there is memory for 1 to %d", infer.ErrBadInput, batch, e.maxBatch)
	}
	return nil
}

// launch queues the kernels one by one.
func (e *Exec) launch(stream *cuda.Stream, batch int) error {
	r := e.runner
	r.stream, r.batch = stream, batch
	return r.launch()
}

// try runs one item of zeros, so that what cannot run shows now.
func (e *Exec) try() error {
	if err := errors.Join(e.launch(e.stream, 1), e.stream.Synchronize()); err != nil {
		return fmt.Errorf("trial run: %w", err)
	}
	return nil
}

// Close frees the Exec; work that was queued must have ended. It may be called again.
func (e *Exec) Close() error {
	if e.closed {
		return nil
	}
	e.closed = true
	return errors.Join(e.graphs.Close(), e.staging.close(), e.stream.Close(), e.arena.Close(), e.net.leave())
}
