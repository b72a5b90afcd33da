//go:build xnnpack

package xnnpack

// #include "native.h"
import "C"

import (
	"fmt"
	"slices"

	"facetrack/infer"
)

// nodeSteps makes the steps of a node: our own, or else an XNNPACK runtime.
func (s *session) nodeSteps(p *program, n *node) ([]C.ft_step, error) {
	switch n.Op {
	case infer.Transpose:
		return s.transposeStep(p, n)
	case infer.StridedSlice:
		return s.sliceStep(p, n)
	case infer.Mean, infer.Sum:
		return s.reduceStep(p, n)
	case infer.Rsqrt:
		return s.simpleStep(p, n, C.FT_RSQRT, volume(p.shape(n.Inputs[0])))
	case infer.Concat:
		return s.concatSteps(p, n)
	case infer.ResizeNearest:
		in := p.shape(n.Inputs[0])
		return s.simpleStep(p, n, C.FT_RESIZE, in[0]*in[1], in[2], in[3], n.Scale[0], n.Scale[1])
	case depthwise, pointwise, maxPool2x2, depthwisePool:
		step, err := s.windowStep(p, n)
		return []C.ft_step{step}, err
	case addPRelu:
		return s.channelStep(p, n, C.FT_ADD_PRELU, p.channels(n.Inputs[1]))
	case layerNorm:
		steps, err := s.channelStep(p, n, C.FT_LAYER_NORM)
		if err == nil {
			steps[0].scale = C.float(n.epsilon)
		}
		return steps, err
	}
	runtime, err := s.newRuntime(p, n)
	if err != nil {
		return nil, err
	}
	s.runtimes = append(s.runtimes, runtime)
	return []C.ft_step{{kind: C.FT_RUNTIME, runtime: runtime}}, nil
}

// simpleStep binds the node's inputs and output and stores dims as they are.
func (s *session) simpleStep(p *program, n *node, kind uint32, dims ...int) ([]C.ft_step, error) {
	step := C.ft_step{kind: kind, pool: s.pool, scale: 1}
	for i, id := range n.Inputs {
		address, err := s.address(p, id)
		if err != nil {
			return nil, err
		}
		step.in[i] = address
	}
	step.out = s.memory[n.Outputs[0]]
	for i, d := range dims {
		step.dim[i] = C.size_t(d)
	}
	return []C.ft_step{step}, nil
}

// channelStep is for the kernels that have a constant for each channel; dims follow the pixels and the channels.
func (s *session) channelStep(p *program, n *node, kind uint32, dims ...int) ([]C.ft_step, error) {
	channels := p.channels(n.Outputs[0])
	steps, err := s.simpleStep(p, n, kind, append([]int{volume(p.shape(n.Outputs[0])) / channels, channels}, dims...)...)
	if err != nil {
		return nil, err
	}
	steps[0].in[2], err = s.constant(n.slope)
	return steps, err
}

func (s *session) reduceStep(p *program, n *node) ([]C.ft_step, error) {
	shape, first, end := p.shape(n.Inputs[0]), 0, 0
	if len(n.Axes) > 0 {
		first, end = n.Axes[0], n.Axes[len(n.Axes)-1]+1
	}
	reduced := volume(shape[first:end])
	steps, err := s.simpleStep(p, n, C.FT_REDUCE, volume(shape[:first]), reduced, volume(shape[end:]))
	if err == nil && n.Op == infer.Mean {
		steps[0].scale = C.float(1 / float64(reduced))
	}
	return steps, err
}

// concatSteps makes one copy for each input.
func (s *session) concatSteps(p *program, n *node) ([]C.ft_step, error) {
	out := p.shape(n.Outputs[0])
	pitch, offset := volume(out[n.Axis:]), 0
	var steps []C.ft_step
	for _, id := range n.Inputs {
		part := *n
		part.Inputs = []infer.ValueID{id}
		run := volume(p.shape(id)[n.Axis:])
		step, err := s.simpleStep(p, &part, C.FT_CONCAT, volume(out[:n.Axis]), run, pitch)
		if err != nil {
			return nil, err
		}
		step[0].out = advance(step[0].out, offset)
		steps, offset = append(steps, step[0]), offset+run
	}
	return steps, nil
}

func (s *session) transposeStep(p *program, n *node) ([]C.ft_step, error) {
	in := p.shape(n.Inputs[0])
	strides := stridesOf(in)
	extent, stride := make([]int, len(in)), make([]int, len(in))
	for i, a := range n.Perm {
		extent[i], stride[i] = in[a], strides[a]
	}
	return s.walkStep(p, n, extent, stride, 0)
}

func (s *session) sliceStep(p *program, n *node) ([]C.ft_step, error) {
	stride, offset := stridesOf(p.shape(n.Inputs[0])), 0
	extent := make([]int, len(stride))
	for i := range stride {
		offset += n.Begin[i] * stride[i]
		stride[i] *= n.Steps[i]
		extent[i] = (n.End[i] - n.Begin[i] + n.Steps[i] - 1) / n.Steps[i]
	}
	return s.walkStep(p, n, extent, stride, offset)
}

// walkStep reads the input by strides and writes the output in order.
func (s *session) walkStep(p *program, n *node, extent, stride []int, offset int) ([]C.ft_step, error) {
	extent, stride = mergeAxes(extent, stride)
	if len(extent) > C.FT_MAX_RANK {
		return nil, fmt.Errorf("%w: %s of rank %d, at most %d is possible", ErrUnsupported, n.Op, len(extent), C.FT_MAX_RANK)
	}
	dims := make([]int, 1+2*C.FT_MAX_RANK)
	dims[0] = len(extent)
	copy(dims[1:], extent)
	copy(dims[1+C.FT_MAX_RANK:], stride)
	steps, err := s.simpleStep(p, n, C.FT_TRANSPOSE, dims...)
	if err == nil {
		steps[0].in[0] = advance(steps[0].in[0], offset)
	}
	return steps, err
}

// mergeAxes drops axes of extent 1 and joins neighbours that are contiguous in the input. At least two are left.
func mergeAxes(extent, stride []int) (e, st []int) {
	for i := range extent {
		last := len(e) - 1
		switch {
		case extent[i] == 1:
		case last >= 0 && st[last] == stride[i]*extent[i]:
			e[last], st[last] = e[last]*extent[i], stride[i]
		default:
			e, st = append(e, extent[i]), append(st, stride[i])
		}
	}
	for len(e) < 2 {
		e, st = slices.Insert(e, 0, 1), slices.Insert(st, 0, 0)
	}
	return e, st
}

func stridesOf(shape []int) []int {
	strides := make([]int, len(shape))
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = n
		n *= shape[i]
	}
	return strides
}
