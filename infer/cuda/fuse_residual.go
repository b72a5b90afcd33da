package gpu

import (
	"slices"

	"facetrack/infer"
	"facetrack/internal/kernels/nn"
)

// fuseResiduals lets a dense convolution add the other operand of the Add that alone reads it, and do the activation behind. The other
// operand may be another image's 2×2 maxima, with channels of zeros behind them: neither is computed any more.
func (p *program) fuseResiduals() {
	l, dead := p.links(), map[int]bool{}
	for i := range p.ops {
		add := &p.ops[i]
		if add.Op != infer.Add || !slices.Equal(p.shape(add.Inputs[0]), p.shape(add.Inputs[1])) {
			continue
		}
		conv, other := p.summand(l, add, dead)
		if conv < 0 {
			continue
		}
		fused := p.ops[conv]
		x, kind := p.matchResidual(l, other, dead)
		fused.residual, fused.act, fused.slope = kind, add.act, add.slope
		fused.Inputs = []infer.ValueID{fused.Inputs[0], x}
		fused.Outputs = add.Outputs
		p.ops[i], dead[conv] = fused, true // here the residual is there already
	}
	p.drop(dead)
}

// summand is the convolution that can take over an addition, and the operand that it adds.
func (p *program) summand(l links, add *op, dead map[int]bool) (conv int, other infer.ValueID) {
	for k := 1; k >= 0; k-- {
		other = add.Inputs[1-k]
		conv = l.own(infer.Conv2D, add.Inputs[k])
		if conv >= 0 && !dead[conv] && p.isDense(&p.ops[conv]) && isPlain(&p.ops[conv]) && !p.isConstant(other) && len(p.shape(other)) == 4 {
			return conv, other
		}
	}
	return -1, 0
}

// matchResidual looks through a Pad of channels and a pool for the image that is added.
func (p *program) matchResidual(l links, x infer.ValueID, dead map[int]bool) (infer.ValueID, nn.Residual) {
	if pad := l.own(infer.Pad, x); pad >= 0 && appendsChannels(&p.ops[pad]) {
		dead[pad] = true
		x = p.ops[pad].Inputs[0]
	}
	if pool := l.own(infer.MaxPool2D, x); pool >= 0 && p.isHalving(&p.ops[pool]) {
		dead[pool] = true
		return p.ops[pool].Inputs[0], nn.PooledResidual
	}
	return x, nn.SameResidual
}
