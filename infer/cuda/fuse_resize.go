package gpu

import (
	"slices"

	"facetrack/infer"
)

// fuseResizes lets arithmetic between two images read one of them enlarged, instead of after a ResizeNearest.
func (p *program) fuseResizes() {
	l, dead := p.links(), map[int]bool{}
	for i := range p.ops {
		n := &p.ops[i]
		if !isArithmetic(n.Op) || !slices.Equal(p.shape(n.Inputs[0]), p.shape(n.Inputs[1])) {
			continue
		}
		for k, x := range n.Inputs {
			if at := l.own(infer.ResizeNearest, x); at >= 0 {
				n.scale[k], n.Inputs[k] = p.ops[at].Scale, p.ops[at].Inputs[0]
				dead[at] = true
				break // both would be one axis too many
			}
		}
	}
	p.drop(dead)
}

func isArithmetic(op infer.Op) bool {
	switch op {
	case infer.Add, infer.Sub, infer.Mul, infer.Div, infer.SquaredDifference:
		return true
	}
	return false
}
