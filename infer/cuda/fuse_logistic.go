package gpu

import (
	"facetrack/infer"
	"facetrack/internal/kernels/nn"
)

// fuseLogistic moves a Logistic into the operator whose result it alone reads, also through a Reshape.
func (p *program) fuseLogistic() {
	l, dead := p.links(), map[int]bool{}
	for i := range p.ops {
		n := &p.ops[i]
		if n.Op != infer.Logistic {
			continue
		}
		x := n.Inputs[0]
		reshape := l.own(infer.Reshape, x)
		if reshape >= 0 {
			x = p.ops[reshape].Inputs[0]
		}
		at := l.writer[x]
		if at < 0 || l.uses[x] != 1 || !takesLogistic(&p.ops[at]) {
			continue
		}
		p.ops[at].act = nn.Logistic
		last := at
		if reshape >= 0 {
			last = reshape
		}
		p.ops[last].Outputs = n.Outputs
		dead[i] = true
	}
	p.drop(dead)
}

func takesLogistic(o *op) bool {
	return isPlain(o) && (o.Op == infer.Conv2D || o.Op == infer.StridedSlice)
}
