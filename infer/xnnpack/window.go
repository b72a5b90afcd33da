//go:build xnnpack

package xnnpack

// #include "native.h"
import "C"

import (
	"slices"

	"facetrack/infer"
)

var windowKinds = map[infer.Op]uint32{
	depthwise: C.FT_DEPTHWISE, pointwise: C.FT_POINTWISE, maxPool2x2: C.FT_MAX_POOL, depthwisePool: C.FT_DEPTHWISE_POOL,
}

// windowStep makes the step of a node that our kernels slide over an image.
func (s *session) windowStep(p *program, n *node) (step C.ft_step, err error) {
	step = C.ft_step{kind: windowKinds[n.Op], pool: s.pool, out: s.memory[n.Outputs[0]]}
	if step.in[C.FT_INPUT], err = s.address(p, n.Inputs[0]); err != nil {
		return step, err
	}
	in, out := p.shape(n.Inputs[0]), p.shape(n.Outputs[0])
	dims := map[int]int{
		C.FT_HEIGHT: in[1], C.FT_WIDTH: in[2], C.FT_CHANNELS: in[3],
		C.FT_OUT_HEIGHT: out[1], C.FT_OUT_WIDTH: out[2], C.FT_OUT_CHANNELS: out[3],
		C.FT_STRIDE: max(n.Stride[0], 1), C.FT_PAD_TOP: n.Pads[0], C.FT_PAD_LEFT: n.Pads[1],
		C.FT_KERNEL_HEIGHT: n.Kernel[0], C.FT_KERNEL_WIDTH: n.Kernel[1],
	}
	for i, d := range dims {
		step.dim[i] = C.size_t(d)
	}
	if n.depth != nil {
		if err := s.packDepthwise(&step, n, in); err != nil {
			return step, err
		}
	}
	switch n.Op {
	case pointwise:
		err = s.packPointwise(&step, p, n)
		if p.direct() && n.Inputs[0] == p.in[0] {
			step.from_caller = 1
		}
	case depthwisePool: // four pixels of the depthwise convolution for each
		step.dim[C.FT_TILE_ROWS] = 1
		step.dim[C.FT_TILE_COLUMNS] = C.size_t(even(out[2], C.FT_SCRATCH/4/in[3]))
	}
	return step, err
}

// direct says that the graph's one input is read by nothing but convolutions that gather: those copy exactly the rows
// that they need, so they can read the caller's slice, and the whole input need not be copied first.
func (p *program) direct() bool {
	if len(p.in) != 1 {
		return false
	}
	readers := 0
	for i := range p.nodes {
		n := &p.nodes[i]
		for k, id := range n.Inputs {
			if p.alias[id] != p.in[0] {
				continue
			}
			if id != p.in[0] || n.Op != pointwise || k != 0 || n.depth != nil || n.Kernel[0]*n.Kernel[1] == 1 {
				return false
			}
			readers++
		}
	}
	return readers > 0 && !slices.ContainsFunc(p.out, func(id infer.ValueID) bool { return p.alias[id] == p.in[0] })
}

func (s *session) packDepthwise(step *C.ft_step, n *node, in []int) (err error) {
	filter := channelsLast(n.depth.filter, in[3])
	if step.in[C.FT_DEPTH_FILTER], err = s.constant(slices.Concat(filter, n.depth.bias, n.depth.slope)); err != nil {
		return err
	}
	step.in[C.FT_ZEROS], err = s.alloc(in[2] * in[3])
	return err
}

func (s *session) packPointwise(step *C.ft_step, p *program, n *node) (err error) {
	channels := int(step.dim[C.FT_OUT_CHANNELS])
	if step.in[C.FT_POINT_FILTER], err = s.constant(blocked(n.point.filter, channels, s.lanes)); err != nil {
		return err
	}
	if step.in[C.FT_POINT_END], err = s.constant(slices.Concat(n.point.bias, n.point.slope)); err != nil {
		return err
	}
	if len(n.Inputs) > 1 {
		step.dim[C.FT_RESIDUAL_CHANNELS] = C.size_t(p.channels(n.Inputs[1]))
		if step.in[C.FT_RESIDUAL], err = s.address(p, n.Inputs[1]); err != nil {
			return err
		}
	}
	tile(step, n)
	return nil
}

// blocked orders a filter [channels, depth] as the kernels read it: for each block of lanes, [depth][lanes]. The
// last block moves back to end with the last channel.
func blocked(filter []float32, channels, lanes int) []float32 {
	depth := len(filter) / channels
	var out []float32
	for c := 0; c < channels; c += lanes {
		first := min(c, channels-lanes)
		for k := range depth {
			for l := range lanes {
				out = append(out, filter[(first+l)*depth+k])
			}
		}
	}
	return out
}

// tile chooses how many output pixels are done at a time, so that what passes between the two convolutions stays in
// the first-level cache: several rows where they are short, else a part of a row.
func tile(step *C.ft_step, n *node) {
	width, height := int(step.dim[C.FT_OUT_WIDTH]), int(step.dim[C.FT_OUT_HEIGHT])
	channels, stride := int(step.dim[C.FT_CHANNELS]), int(step.dim[C.FT_STRIDE])
	pixels := max(C.FT_SCRATCH/channels, 1)
	gathered := n.depth == nil && n.Kernel[0]*n.Kernel[1] > 1
	if gathered {
		pixels = (C.FT_SCRATCH/(channels*n.Kernel[0])-n.Kernel[1])/stride + 1
	}
	rows, columns := 1, width
	if pixels >= width && !gathered {
		rows = min(pixels/width, height)
	}
	if pixels < width {
		columns = even(width, pixels)
	}
	step.dim[C.FT_TILE_ROWS], step.dim[C.FT_TILE_COLUMNS] = C.size_t(rows), C.size_t(columns)
}

// even cuts width into equal parts of at most limit, in multiples of the kernels' 8 pixels where possible.
func even(width, limit int) int {
	parts := (width + limit - 1) / limit
	part := (width + parts - 1) / parts
	if rounded := (part + 7) / 8 * 8; rounded <= limit {
		return rounded
	}
	return part
}
