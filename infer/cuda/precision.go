package gpu

import (
	"fmt"

	"facetrack/infer"
	"facetrack/internal/kernels/nn"
)

func parsePrecision(word string) (nn.Precision, error) {
	switch word {
	case "", infer.AutoPrecision, infer.FP16:
		return nn.F16, nil
	case infer.FP32:
		return nn.F32, nil
	}
	return 0, fmt.Errorf("%w: precision %q; it is auto, fp32 or fp16", infer.ErrBadInput, word)
}

// precisions says in which precision each value is kept: the network's for images and for what convolutions compute, and float32
// for lists of numbers, sums, roots and quotients, for the network's outputs, and for what is computed from any of these.
func (p *program) precisions(at []place, own nn.Precision) []nn.Precision {
	kept := make([]nn.Precision, len(p.values)) // F32
	if own == nn.F32 {
		return kept
	}
	isOutput := map[infer.ValueID]bool{}
	for _, id := range p.out {
		isOutput[at[id].root] = true
	}
	for _, id := range p.in {
		if isImage(p.shape(id)) {
			kept[id] = own
		}
	}
	for i := range p.ops {
		o := &p.ops[i]
		if !isOutput[at[o.out()].root] {
			kept[o.out()] = p.natural(o, kept)
		}
	}
	for i := range kept {
		if !isOutput[at[i].root] {
			kept[i] = kept[at[i].root]
		}
	}
	return kept
}

// natural is the precision in which an operator computes.
func (p *program) natural(o *op, kept []nn.Precision) nn.Precision {
	switch o.Op {
	case infer.Conv2D:
		return nn.F16
	case mixerOp, infer.Mean, infer.Sum, infer.Sqrt, infer.Rsqrt, infer.Div, infer.SquaredDifference:
		return nn.F32
	}
	lowest := nn.F32
	for _, id := range o.Inputs {
		if p.isConstant(id) {
			continue
		}
		if kept[id] == nn.F32 {
			return nn.F32
		}
		lowest = kept[id]
	}
	return lowest
}

// isImage tells images from lists of numbers, whose range may need all of float32.
func isImage(shape []int) bool { return len(shape) == 4 && shape[1] > 1 && shape[2] > 1 }
