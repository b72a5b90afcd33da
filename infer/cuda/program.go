package gpu

import (
	"slices"

	"facetrack/infer"
	"facetrack/internal/kernels/nn"
)

// op is an operator of the graph on its way to a step, together with what was fused into it. Its inputs are operands alone:
// weights, bias and slopes are beside them.
type op struct {
	infer.Node
	act      nn.Activation
	slope    []float32   // of act, or of a PRelu
	weights  []float32   // of a Conv2D
	bias     []float32   // of a Conv2D; may be nil
	front    *op         // the depthwise convolution in front of a Conv2D, whose input is Inputs[0]
	residual nn.Residual // what of Inputs[1] a Conv2D adds
	scale    [2][2]int   // by which an operand of arithmetic is enlarged; 0: it is not
	mixer    *nn.MixerWeights
}

// mixerOp is the whole network of blendshapes.
const mixerOp infer.Op = "Mixer"

func (o *op) out() infer.ValueID { return o.Outputs[0] }

// program is what the passes rewrite.
type program struct {
	values []infer.Value
	ops    []op
	in     []infer.ValueID
	out    []infer.ValueID
}

// newProgram copies the structure of a graph, not its constants.
func newProgram(g *infer.Graph) *program {
	p := &program{values: slices.Clone(g.Values), in: g.Inputs, out: g.Outputs}
	for i := range g.Nodes {
		p.ops = append(p.ops, p.newOp(&g.Nodes[i]))
	}
	return p
}

var activations = map[infer.Activation]nn.Activation{
	infer.NoActivation: nn.None, infer.ReluActivation: nn.Relu, infer.Relu6Activation: nn.Relu6, infer.PReluActivation: nn.PRelu,
}

func (p *program) newOp(n *infer.Node) op {
	o := op{Node: *n, act: activations[n.Activation]}
	o.Inputs = slices.Clone(n.Inputs)
	if id, ok := n.Slope(); ok {
		o.slope = p.values[id].Data
		o.Inputs = o.Inputs[:len(o.Inputs)-1]
	}
	if n.Op == infer.Conv2D {
		o.weights = p.values[n.Inputs[1]].Data
		if id, ok := n.Bias(); ok {
			o.bias = p.values[id].Data
		}
		o.Inputs = o.Inputs[:1]
	}
	return o
}

// fuse makes few operators of many.
func (p *program) fuse() {
	if p.fuseMixer() {
		return
	}
	p.mergeHeads()
	p.fuseLogistic()
	p.fuseResiduals()
	p.fuseFronts()
	p.fuseResizes()
}

func (p *program) shape(id infer.ValueID) []int { return p.values[id].Shape }

func (p *program) len(id infer.ValueID) int { return p.values[id].Len() }

// isConstant: constants have data, activations have none.
func (p *program) isConstant(id infer.ValueID) bool { return p.values[id].Data != nil }

func (p *program) newValue(name string, shape ...int) infer.ValueID {
	p.values = append(p.values, infer.Value{Name: name, Shape: shape})
	return infer.ValueID(len(p.values) - 1)
}

// drop removes the marked operators.
func (p *program) drop(dead map[int]bool) {
	kept := make([]op, 0, len(p.ops))
	for i := range p.ops {
		if !dead[i] {
			kept = append(kept, p.ops[i])
		}
	}
	p.ops = kept
}

// links tells who writes and who reads the values of a program, as it was when links was made.
type links struct {
	p      *program
	writer []int // index of the operator, -1 for inputs and constants
	reader []int // index of an operator that reads the value, -1 for none
	uses   []int // number of readers; being an output of the graph is one
}

func (p *program) links() links {
	n := len(p.values)
	l := links{p, slices.Repeat([]int{-1}, n), slices.Repeat([]int{-1}, n), make([]int, n)}
	for i := range p.ops {
		for _, id := range p.ops[i].Inputs {
			l.reader[id] = i
			l.uses[id]++
		}
		l.writer[p.ops[i].out()] = i
	}
	for _, id := range p.out {
		l.uses[id]++
	}
	return l
}

// next is the operator that alone reads a value, -1 when there is not exactly one.
func (l links) next(id infer.ValueID) int {
	if l.uses[id] != 1 {
		return -1
	}
	return l.reader[id]
}

// own is the operator that writes a value for one reader alone, -1 when there is none or it is another operator.
func (l links) own(kind infer.Op, id infer.ValueID) int {
	at := l.writer[id]
	if at < 0 || l.uses[id] != 1 || l.p.ops[at].Op != kind {
		return -1
	}
	return at
}
