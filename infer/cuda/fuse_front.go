package gpu

import (
	"facetrack/infer"
)

// fuseFronts computes a depthwise convolution inside the 1×1 convolution that alone reads it.
func (p *program) fuseFronts() {
	l, dead := p.links(), map[int]bool{}
	for i := range p.ops {
		n := &p.ops[i]
		if !p.isPointwise(n) {
			continue
		}
		at := l.own(infer.Conv2D, n.Inputs[0])
		if at < 0 || !p.isDepthwise(&p.ops[at]) || p.ops[at].Dilation != [2]int{1, 1} {
			continue
		}
		front := p.ops[at]
		n.front, n.Inputs[0] = &front, front.Inputs[0]
		dead[at] = true
	}
	p.drop(dead)
}
