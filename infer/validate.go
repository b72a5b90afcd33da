package infer

import (
	"fmt"
	"slices"
)

// Validate checks every rule that backends rely on: ids in range, one producer per value, topological order,
// shapes that follow from the inputs, constant weights, and the size limits. It returns ErrInvalidGraph.
func (g *Graph) Validate() error {
	v := validator{g: g}
	for _, check := range []func() error{v.counts, v.values, v.inputs, v.nodes, v.outputs} {
		if err := check(); err != nil {
			return fmt.Errorf("graph %q: %w", g.Name, err)
		}
	}
	return nil
}

type validator struct {
	g        *Graph
	defined  []bool // a constant, an input, or computed by a node so far
	computed []bool
	work     int // multiply-adds so far
}

func (v *validator) counts() error {
	g := v.g
	if len(g.Values) > MaxValues || len(g.Nodes) > MaxNodes {
		return fmt.Errorf("%w: %d values and %d nodes; at most %d and %d", ErrInvalidGraph, len(g.Values), len(g.Nodes), MaxValues, MaxNodes)
	}
	if len(g.Inputs) == 0 || len(g.Outputs) == 0 {
		return fmt.Errorf("%w: %d inputs and %d outputs; needs one of each", ErrInvalidGraph, len(g.Inputs), len(g.Outputs))
	}
	return nil
}

func (v *validator) values() error {
	v.defined = make([]bool, len(v.g.Values))
	v.computed = make([]bool, len(v.g.Values))
	activations := 0
	for i := range v.g.Values {
		val := &v.g.Values[i]
		n, err := CheckShape(val.Shape)
		if err != nil {
			return fmt.Errorf("value %d %q: %w", i, val.Name, err)
		}
		if val.Data == nil {
			activations += n
			continue
		}
		v.defined[i] = true
		if len(val.Data) != n {
			return fmt.Errorf("%w: constant %d %q of shape %v holds %d elements", ErrInvalidGraph, i, val.Name, val.Shape, len(val.Data))
		}
	}
	if activations > MaxActivations {
		return fmt.Errorf("%w: activations hold %d elements together; at most %d", ErrInvalidGraph, activations, MaxActivations)
	}
	return nil
}

func (v *validator) inputs() error {
	for _, id := range v.g.Inputs {
		if !v.inRange(id) || v.defined[id] {
			return fmt.Errorf("%w: input %d is out of range, constant, or listed twice", ErrInvalidGraph, id)
		}
		v.defined[id] = true
	}
	return nil
}

func (v *validator) nodes() error {
	for i := range v.g.Nodes {
		n := &v.g.Nodes[i]
		if err := v.operands(n); err != nil {
			return fmt.Errorf("node %d: %w", i, err)
		}
		shape, err := v.g.OutputShape(n)
		if err != nil {
			return fmt.Errorf("node %d: %w", i, err)
		}
		if err := v.constants(n, shape); err != nil {
			return fmt.Errorf("node %d: %w", i, err)
		}
		out := n.Outputs[0]
		if !slices.Equal(shape, v.g.Values[out].Shape) {
			return fmt.Errorf("node %d: %w: %s computes shape %v, its output says %v", i, ErrInvalidGraph, n, shape, v.g.Values[out].Shape)
		}
		v.defined[out], v.computed[out] = true, true
	}
	return nil
}

func (v *validator) operands(n *Node) error {
	for _, id := range n.Inputs {
		if !v.inRange(id) || !v.defined[id] {
			return fmt.Errorf("%w: %s reads value %d, which is out of range or not computed before it", ErrInvalidGraph, n, id)
		}
	}
	for _, id := range n.Outputs {
		if !v.inRange(id) || v.defined[id] {
			return fmt.Errorf("%w: %s writes value %d, which is out of range or has a producer", ErrInvalidGraph, n, id)
		}
	}
	return nil
}

// constants checks what has to be known when a session is opened: weights, bias and slopes.
func (v *validator) constants(n *Node, out []int) error {
	if !fusible(n.Op, n.Activation) {
		return fmt.Errorf("%w: %s cannot have activation %d", ErrInvalidGraph, n, n.Activation)
	}
	if n.Op == Conv2D {
		if v.work += convWork(out, v.g.Values[n.Inputs[1]].Shape); v.work > MaxWork {
			return fmt.Errorf("%w: convolutions need more than %d multiply-adds", ErrInvalidGraph, MaxWork)
		}
		for _, id := range n.Inputs[1:] {
			if v.g.Values[id].Data == nil {
				return fmt.Errorf("%w: %s has weights, a bias or slopes that are not constant", ErrInvalidGraph, n)
			}
		}
	}
	if id, ok := n.Slope(); ok {
		s := &v.g.Values[id]
		if s.Data == nil || len(s.Shape) != 1 || len(out) == 0 || s.Shape[0] != out[len(out)-1] {
			return fmt.Errorf("%w: %s has slopes of shape %v; needs one constant per channel of %v", ErrInvalidGraph, n, s.Shape, out)
		}
	}
	return nil
}

// convWork is how many multiply-adds compute the output from weights [O,KH,KW,C/groups].
func convWork(out, weights []int) int {
	n := 1
	for _, d := range append(out[:4:4], weights[1:]...) {
		n *= d
	}
	return n
}

func fusible(op Op, a Activation) bool {
	switch a {
	case NoActivation:
		return true
	case ReluActivation, Relu6Activation:
		return slices.Contains([]Op{Conv2D, MaxPool2D, Add, Sub, Mul, Div}, op)
	case PReluActivation:
		return op == Conv2D || op == Add
	}
	return false
}

func (v *validator) outputs() error {
	for i, id := range v.g.Outputs {
		if !v.inRange(id) || !v.computed[id] || slices.Contains(v.g.Outputs[:i], id) {
			return fmt.Errorf("%w: output %d is out of range, listed twice, or not computed by a node", ErrInvalidGraph, id)
		}
	}
	return nil
}

func (v *validator) inRange(id ValueID) bool { return id >= 0 && int(id) < len(v.g.Values) }
