package gpu

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"facetrack/infer"
	"facetrack/internal/cuda"
	"facetrack/internal/kernels/nn"
)

// Options tune a network.
type Options struct {
	Precision string // infer.FP16 (also "" and "auto") or infer.FP32
	MaxBatch  int    // of an Exec that does not say; 0 is 1
	Graphs    bool   // launch a batch size that was seen before as one captured graph
	Raw       bool   // run the graph's nodes as they are, not optimised
	Log       *slog.Logger
}

// Network is a graph whose constants are on the device. Execs of it may run at the same time.
type Network struct {
	name            string
	options         Options
	plan            *plan
	inputs, outputs []infer.Info
	ctx             *cuda.Context
	set             *nn.Set
	addresses       []uint64 // of the plan's buffers; 0 for values

	mu     sync.Mutex
	memory *cuda.Memory // constants
	users  int          // Execs
	closed bool
}

// NewNetwork plans a graph, which stays the caller's, and brings its constants to the device of ctx. ctx and set must outlive the
// network and its Execs.
func NewNetwork(ctx *cuda.Context, set *nn.Set, g *infer.Graph, o Options) (*Network, error) {
	precision, err := parsePrecision(o.Precision)
	if err != nil {
		return nil, err
	}
	if !o.Raw {
		g = g.Clone()
		err = infer.Optimize(g)
	} else {
		err = g.Validate()
	}
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	n := &Network{name: g.Name, options: o, inputs: g.InputInfo(), outputs: g.OutputInfo(), ctx: ctx, set: set}
	if n.plan, err = newPlan(g, precision, set.ChainShared()); err != nil {
		return nil, err
	}
	if err := n.upload(); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// upload puts all constants into one allocation.
func (n *Network) upload() error {
	var block []byte
	n.addresses = make([]uint64, len(n.plan.buffers))
	for i, b := range n.plan.buffers {
		if b.constant == nil {
			continue
		}
		packed, err := b.constant(n.set)
		if err != nil {
			return fmt.Errorf("constants: %w", err)
		}
		n.addresses[i] = uint64(len(block))
		block = append(block, packed...)
		block = append(block, make([]byte, aligned(len(block))-len(block))...)
	}
	if len(block) == 0 {
		return nil
	}
	var err error
	if n.memory, err = n.ctx.Alloc(int64(len(block))); err != nil {
		return err
	}
	for i, b := range n.plan.buffers {
		if b.constant != nil {
			n.addresses[i] += n.memory.Address()
		}
	}
	stream, err := n.ctx.NewStream()
	if err != nil {
		return err
	}
	return errors.Join(stream.Upload(n.memory.Address(), block), stream.Synchronize(), stream.Close())
}

// Inputs describes the inputs of one item.
func (n *Network) Inputs() []infer.Info { return n.inputs }

// Outputs describes the outputs of one item. On the device they are float32.
func (n *Network) Outputs() []infer.Info { return n.outputs }

// InputPrecision is what an input holds on the device.
func (n *Network) InputPrecision(i int) nn.Precision {
	return n.plan.buffers[n.plan.in[i].buffer].precision
}

// Precision is what convolutions compute in.
func (n *Network) Precision() nn.Precision { return n.plan.precision }

// Steps names the launches of a run in order.
func (n *Network) Steps() []string {
	names := make([]string, len(n.plan.steps))
	for i := range names {
		names[i] = n.plan.steps[i].String()
	}
	return names
}

// join keeps the constants for an Exec.
func (n *Network) join() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return infer.ErrClosed
	}
	n.users++
	return nil
}

func (n *Network) leave() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.users--
	return n.free()
}

// Close gives the network up. Its Execs stay usable until they are closed.
func (n *Network) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	return n.free()
}

// free has the constants' memory given back by the last that uses it.
func (n *Network) free() error {
	if !n.closed || n.users > 0 {
		return nil
	}
	return n.memory.Close()
}
