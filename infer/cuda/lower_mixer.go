package gpu

import "facetrack/internal/kernels/nn"

// mixer is one step, of a launch for each block of layers. Its input and output are float32.
func (l *planner) mixer(o *op) error {
	p, w := l.plan.precision, *o.mixer
	sizes, err := nn.MixerOf(w)
	if err != nil {
		return err
	}
	x, y := l.operand(o, o.Inputs[0], nn.F32), l.home(o.out())
	constants := l.constant(func(*nn.Set) ([]byte, error) { return nn.PackMixer(p, w) })
	scratch := ref{l.newBuffer(buffer{len: nn.MixerScratch, precision: nn.F32}), 0}
	l.add(o, "mixer", func(r *run) error {
		return r.set.Mixer(r.stream, p, sizes, nn.MixerAt{X: r.at(x), Y: r.at(y), Constants: r.at(constants), Scratch: r.at(scratch)}, r.batch)
	}, x, y, scratch)
	return nil
}
