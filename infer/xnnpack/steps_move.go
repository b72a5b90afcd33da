//go:build xnnpack

package xnnpack

// #include "native.h"
import "C"

import (
	"fmt"
	"slices"

	"facetrack/infer"
)

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
