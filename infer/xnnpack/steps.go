//go:build xnnpack

package xnnpack

// #include "native.h"
import "C"

import "facetrack/infer"

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
