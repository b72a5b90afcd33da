package gpu

import (
	"slices"

	"facetrack/infer"
	"facetrack/internal/kernels/nn"
)

// What one thread block computes in about the time that a launch takes, so that all of a chain does not wait for a few large layers.
const (
	chainInput  = 576     // pixels of what a unit reads
	chainOutput = 144     // … and of what it makes
	chainWork   = 4 << 20 // products of a unit
)

// chain is convolutions that one launch computes: each reads the chain's input x or what others of it make.
type chain struct {
	x     infer.ValueID
	ops   []int // in order
	units []nn.ChainUnit
}

// chains finds runs of small convolutions, which would be launches that only wait for one another. A thread block can have so many bytes of
// shared memory. The result has the chain of every operator that is in one.
func (p *program) chains(shared int) map[int]*chain {
	all := map[int]*chain{}
	for i := range p.ops {
		if all[i] != nil || !p.isChainable(i) {
			continue
		}
		if c := p.chainFrom(i, all, shared); c != nil {
			for _, k := range c.ops {
				all[k] = c
			}
		}
	}
	return all
}

// isChainable says that an operator may be a unit.
func (p *program) isChainable(i int) bool {
	o := &p.ops[i]
	if o.Op != infer.Conv2D || p.isDepthwise(o) || o.Groups != 1 || o.Dilation != [2]int{1, 1} || slices.ContainsFunc(o.Inputs, p.isConstant) {
		return false
	}
	if f := o.front; f != nil && (f.Kernel != [2]int{3, 3} || f.Stride[0] != f.Stride[1] || f.Stride[0] > 2) {
		return false
	}
	in, images := p.image(o.Inputs[0])
	out, _ := p.image(o.out())
	return images == 1 && in.H*in.W <= chainInput && out.H*out.W <= chainOutput && len(o.weights)*out.H*out.W <= chainWork
}

// chainFrom is the longest chain that begins with an operator, nil when there is none.
func (p *program) chainFrom(first int, taken map[int]*chain, shared int) *chain {
	ops := []int{first}
	known := []infer.ValueID{p.ops[first].Inputs[0], p.ops[first].out()} // the chain's values in their order
	if slices.ContainsFunc(p.ops[first].Inputs, func(id infer.ValueID) bool { return id != known[0] }) {
		return nil
	}
	for i := first + 1; i < len(p.ops); i++ {
		o := &p.ops[i]
		inside := taken[i] == nil && p.isChainable(i) && slices.Contains(known[1:], o.Inputs[0])
		if inside && !slices.ContainsFunc(o.Inputs, func(id infer.ValueID) bool { return !slices.Contains(known, id) }) {
			ops, known = append(ops, i), append(known, o.out())
		}
	}
	for n := len(ops); n > 1; n-- {
		c := &chain{x: known[0], ops: ops[:n]}
		c.units = p.chainUnits(c.ops, known[:n+1])
		if laid, err := nn.NewChain(c.units[0].In, c.units); err == nil && laid.Shared() <= shared {
			return c
		}
	}
	return nil
}

// chainUnits describes operators as units. What others read, or nobody in the chain, is an output.
func (p *program) chainUnits(ops []int, values []infer.ValueID) []nn.ChainUnit {
	inner := make([]int, len(values)) // readers in the chain
	units := make([]nn.ChainUnit, len(ops))
	for k, i := range ops {
		o := &p.ops[i]
		units[k] = nn.ChainUnit{Conv: p.convOf(o), From: slices.Index(values, o.Inputs[0])}
		inner[units[k].From]++
		if o.residual != nn.NoResidual {
			units[k].With = slices.Index(values, o.Inputs[1])
			inner[units[k].With]++
		}
	}
	uses, outputs := p.links().uses, 0
	for k := range units {
		if n := inner[k+1]; n == 0 || uses[values[k+1]] > n {
			outputs++
			units[k].Output = outputs
		}
	}
	return units
}

// convOf describes a convolution without groups and dilation of one image.
func (p *program) convOf(o *op) nn.Conv {
	in, _ := p.image(o.Inputs[0])
	out, _ := p.image(o.out())
	c := nn.Conv{In: in, Out: out, Kernel: o.Kernel, Stride: o.Stride, Pads: o.Pads, Act: o.act, Residual: o.residual}
	if f := o.front; f != nil {
		c.Front = &nn.Depthwise{In: in, Kernel: f.Kernel, Stride: f.Stride, Pads: f.Pads, Act: f.act}
	}
	if o.residual != nn.NoResidual {
		c.ResidualC = p.channels(o.Inputs[1])
	}
	return c
}
