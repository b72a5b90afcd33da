package gpu

import (
	"facetrack/internal/kernels/nn"
)

// chain is one step, at the place of the first of its operators.
func (l *planner) chain(c *chain) error {
	first := &l.ops[c.ops[0]]
	var weights []nn.ConvWeights
	var finish []func()
	var outputs [nn.ChainOutputs]ref
	uses := []ref{l.items(first, c.x, nn.F16)}
	for k, i := range c.ops {
		o, u := &l.ops[i], &c.units[k]
		w := nn.ConvWeights{W: o.weights, Bias: o.bias, Slope: o.slope}
		if f := o.front; f != nil {
			w.FrontW, w.FrontBias, w.FrontSlope = f.weights, f.bias, f.slope
		}
		weights = append(weights, w)
		if u.Output == 0 {
			continue
		}
		y, done := l.target(o, nn.F16, true, true)
		b := &l.plan.buffers[y.buffer]
		u.OutFloat, u.OutItem = b.precision == nn.F32, b.len
		outputs[u.Output-1] = y
		uses, finish = append(uses, y), append(finish, done)
	}
	laid, err := nn.NewChain(c.units[0].In, c.units)
	if err != nil {
		return err
	}
	constants := l.constant(func(*nn.Set) ([]byte, error) { return laid.Pack(weights) })
	l.add(first, "chain", func(r *run) error {
		at := nn.ChainAt{X: r.at(uses[0]), Constants: r.at(constants)}
		for k := range uses[1:] {
			at.Y[k] = r.at(outputs[k])
		}
		return r.set.Chain(r.stream, laid, at, r.batch)
	}, uses...)
	for _, done := range finish {
		done()
	}
	return nil
}
