package gpu

import "facetrack/internal/kernels/nn"

// mixer is one launch. Its input and output are float32.
func (l *planner) mixer(o *op) error {
	p, w := l.plan.precision, *o.mixer
	sizes, err := nn.MixerOf(w)
	if err != nil {
		return err
	}
	x, y := l.operand(o, o.Inputs[0], nn.F32), l.home(o.out())
	constants := l.constant(func(*nn.Set) ([]byte, error) { return nn.PackMixer(p, w) })
	l.add(o, "mixer", func(r *run) error {
		return r.set.Mixer(r.stream, p, sizes, r.at(x), r.at(y), r.at(constants), r.batch)
	}, x, y)
	return nil
}
