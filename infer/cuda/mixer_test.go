package gpu

import (
	"testing"

	"facetrack/infer"
	"facetrack/internal/kernels/nn"
)

// smallMixer is the network of blendshapes with random weights and as many layers as wanted.
func smallMixer(b *net, layers int) *infer.Graph {
	const points, tokens, channels = 146, 97, 64
	x := b.input(1, points, 2)
	centred := b.op(infer.Sub, x, b.reduce(infer.Mean, x, 1))
	length := b.op(infer.Sqrt, b.reduce(infer.Sum, b.op(infer.Mul, centred, centred), 2))
	y := b.reshape(b.op(infer.Div, centred, b.reduce(infer.Mean, length, 1)), 1, 1, points, 2)
	y = b.point(b.swap(b.op(infer.Mul, y, b.number(1.5))), tokens-1)
	y = b.concat(2, b.random(1, 1, 1, 1, channels), b.point(b.swap(y), channels))
	epsilon := b.number(1e-6)
	for range layers {
		y = b.add(b.swap(mlp(b, b.swap(layerNorm(b, y, epsilon)), 384, tokens)), y, plain)
		y = b.add(mlp(b, layerNorm(b, y, epsilon), 256, channels), y, plain)
	}
	for _, n := range []int{2, 1} {
		y = b.node(infer.Node{Op: infer.StridedSlice, Begin: make([]int, 4), End: []int{1, 1, n, channels}, Steps: []int{1, 1, 1, 1}}, y)
	}
	return b.outputs(b.reshape(b.op(infer.Logistic, b.point(y, 52)), 52))
}

func mlp(b *net, x infer.ValueID, hidden, out int) infer.ValueID {
	return b.point(b.conv(x, hidden, 1, 1, 1, relu), out)
}

func layerNorm(b *net, x, epsilon infer.ValueID) infer.ValueID {
	mean := b.reduce(infer.Mean, x, 3)
	negated := b.op(infer.Neg, mean)
	variance := b.reduce(infer.Mean, b.op(infer.SquaredDifference, x, mean), 3)
	factor := b.op(infer.Mul, b.op(infer.Rsqrt, b.op(infer.Add, variance, epsilon)), b.random(1, b.shape(x)[3]))
	return b.op(infer.Add, b.op(infer.Mul, x, factor), b.op(infer.Mul, negated, factor))
}

// A network that is nearly a mixer runs operator by operator.
func TestMixerThatIsNone(t *testing.T) {
	changes := map[string]func(g *infer.Graph, n *infer.Node) bool{
		"another axis": func(_ *infer.Graph, n *infer.Node) bool {
			changed := n.Op == infer.StridedSlice && n.End[2] == 1
			if changed {
				n.Begin[2], n.End[2] = 1, 2
			}
			return changed
		},
		"another activation": func(_ *infer.Graph, n *infer.Node) bool {
			changed := n.Activation == infer.ReluActivation
			if changed {
				n.Activation = infer.Relu6Activation
			}
			return changed
		},
		"operands the other way round": func(_ *infer.Graph, n *infer.Node) bool {
			changed := n.Op == infer.Sub
			if changed {
				n.Inputs[0], n.Inputs[1] = n.Inputs[1], n.Inputs[0]
			}
			return changed
		},
		"a sum instead of a mean": func(_ *infer.Graph, n *infer.Node) bool {
			changed := n.Op == infer.Mean
			if changed {
				n.Op = infer.Sum
			}
			return changed
		},
	}
	for name, change := range changes {
		g, changed := smallMixer(newNet(), 1), false
		for i := range g.Nodes {
			if changed = change(g, &g.Nodes[i]); changed {
				break
			}
		}
		if err := g.Validate(); err != nil || !changed {
			t.Fatalf("%s: changed %t, %v", name, changed, err)
		}
		p, err := newPlan(g, nn.F16, hopper)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(p.steps) < 20 {
			t.Errorf("%s: %d steps: %s", name, len(p.steps), kinds(p))
		}
	}
}

// Addition has no order.
func TestMixerWithTurnedSums(t *testing.T) {
	g := smallMixer(newNet(), 2)
	for i := range g.Nodes {
		if n := &g.Nodes[i]; n.Op == infer.Add || n.Op == infer.Mul {
			n.Inputs[0], n.Inputs[1] = n.Inputs[1], n.Inputs[0]
		}
	}
	p, err := newPlan(g, nn.F32, hopper)
	if err != nil || kinds(p) != "mixer" {
		t.Errorf("steps %q, %v", kinds(p), err)
	}
}
