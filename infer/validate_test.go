package infer_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"facetrack/infer"
)

// Every way to break a valid graph is found, and the message names it.
func TestValidateFinds(t *testing.T) {
	conv := func(g *infer.Graph) *infer.Node { return &g.Nodes[0] }
	broken := map[string]struct {
		breaks func(*infer.Graph)
		says   string
	}{
		"no outputs":          {func(g *infer.Graph) { g.Outputs = nil }, "1 inputs and 0 outputs"},
		"input out of range":  {func(g *infer.Graph) { g.Inputs[0] = -1 }, "input -1"},
		"input twice":         {func(g *infer.Graph) { g.Inputs = append(g.Inputs, 0) }, "listed twice"},
		"constant input":      {func(g *infer.Graph) { g.Inputs[0] = 1 }, "input 1"},
		"zero dimension":      {func(g *infer.Graph) { g.Values[0].Shape = []int{1, 0, 2, 1} }, "shape [1 0 2 1]"},
		"huge value":          {func(g *infer.Graph) { g.Values[0].Shape = []int{1, 1 << 13, 1 << 13, 1} }, "at most"},
		"high rank":           {func(g *infer.Graph) { g.Values[0].Shape = make([]int, 9) }, "rank 9"},
		"constant of a size":  {func(g *infer.Graph) { g.Values[1].Data = make([]float32, 2) }, "holds 2 elements"},
		"order":               {func(g *infer.Graph) { g.Nodes[0], g.Nodes[1] = g.Nodes[1], g.Nodes[0] }, "not computed before"},
		"two producers":       {func(g *infer.Graph) { g.Nodes[1].Outputs[0] = 2 }, "has a producer"},
		"output not computed": {func(g *infer.Graph) { g.Outputs[0] = 0 }, "not computed by a node"},
		"output twice":        {func(g *infer.Graph) { g.Outputs = append(g.Outputs, 3) }, "listed twice"},
		"unknown operator":    {func(g *infer.Graph) { g.Nodes[1].Op = "Gelu" }, `unknown operator "Gelu"`},
		"too many operands":   {func(g *infer.Graph) { g.Nodes[1].Inputs = []infer.ValueID{2, 2} }, "has 2 inputs"},
		"output shape":        {func(g *infer.Graph) { g.Values[3].Shape = []int{1, 4} }, "its output says [1 4]"},
		"activation":          {func(g *infer.Graph) { g.Nodes[1].Activation = infer.Relu6Activation }, "cannot have activation"},
		"kernel":              {func(g *infer.Graph) { conv(g).Kernel[0] = 3 }, "kernel [3 1]"},
		"stride":              {func(g *infer.Graph) { conv(g).Stride[1] = 0 }, "stride [1 0]"},
		"dilation":            {func(g *infer.Graph) { conv(g).Dilation[0] = 1 << 40 }, "out of range"},
		"negative pad":        {func(g *infer.Graph) { conv(g).Pads[2] = -1 }, "out of range"},
		"groups":              {func(g *infer.Graph) { conv(g).Groups = 0 }, "0 groups"},
		"computed weights":    {func(g *infer.Graph) { g.Values[1].Data = nil; g.Inputs = append(g.Inputs, 1) }, "not constant"},
		"endless work": {func(g *infer.Graph) {
			g.Values[0].Shape, g.Values[2].Shape, g.Values[3].Shape = []int{1, 2047, 2047, 1}, []int{1, 2047, 2047, 1}, []int{1, 2047, 2047, 1}
			g.Values[1] = infer.Value{Shape: []int{1, 65, 65, 1}, Data: make([]float32, 65*65)}
			conv(g).Kernel, conv(g).Pads = [2]int{65, 65}, [4]int{32, 32, 32, 32}
		}, "multiply-adds"},
		"missing slope": {func(g *infer.Graph) { conv(g).Activation = infer.PReluActivation }, "has 2 inputs"},
	}
	if err := convReluGraph().Validate(); err != nil {
		t.Fatal(err)
	}
	for name, c := range broken {
		g := convReluGraph()
		c.breaks(g)
		err := g.Validate()
		if !errors.Is(err, infer.ErrInvalidGraph) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v; want one that says %q", name, err, c.says)
		}
	}
}

// Attributes of operators on x [1,4,6,2]: what is computed, or nil for an error.
func TestOutputShape(t *testing.T) {
	image := []int{1, 4, 6, 2}
	window := infer.Node{Op: infer.MaxPool2D, Kernel: [2]int{2, 3}, Stride: [2]int{2, 2}}
	padded := window
	padded.Pads = [4]int{1, 2, 0, 0}
	pastKernel := window
	pastKernel.Pads = [4]int{2, 0, 0, 0}
	cases := []struct {
		node infer.Node
		want []int
	}{
		{window, []int{1, 2, 2, 2}},
		{padded, []int{1, 2, 3, 2}},
		{pastKernel, nil},
		{infer.Node{Op: infer.Mean, Axes: []int{1, 2}, KeepDims: true}, []int{1, 1, 1, 2}},
		{infer.Node{Op: infer.Sum, Axes: []int{3}}, []int{1, 4, 6}},
		{infer.Node{Op: infer.Sum, Axes: []int{3, 3}}, nil},
		{infer.Node{Op: infer.Mean, Axes: []int{4}}, nil},
		{infer.Node{Op: infer.Transpose, Perm: []int{0, 3, 1, 2}}, []int{1, 2, 4, 6}},
		{infer.Node{Op: infer.Transpose, Perm: []int{0, 3, 1, 1}}, nil},
		{infer.Node{Op: infer.Transpose, Perm: []int{0, 1}}, nil},
		{infer.Node{Op: infer.Pad, Before: []int{0, 1, 0, 0}, After: []int{0, 0, 2, 3}}, []int{1, 5, 8, 5}},
		{infer.Node{Op: infer.Pad, Before: []int{0, -1, 0, 0}, After: []int{0, 0, 0, 0}}, nil},
		{infer.Node{Op: infer.StridedSlice, Begin: []int{0, 1, 0, 0}, End: []int{1, 4, 6, 1}, Steps: []int{1, 2, 4, 1}}, []int{1, 2, 2, 1}},
		{infer.Node{Op: infer.StridedSlice, Begin: []int{0, 1, 0, 0}, End: []int{1, 1, 6, 1}, Steps: []int{1, 1, 1, 1}}, nil},
		{infer.Node{Op: infer.StridedSlice, Begin: []int{0, 0, 0, 0}, End: []int{1, 5, 6, 1}, Steps: []int{1, 1, 1, 1}}, nil},
		{infer.Node{Op: infer.ResizeNearest, Scale: [2]int{2, 3}}, []int{1, 8, 18, 2}},
		{infer.Node{Op: infer.ResizeNearest, Scale: [2]int{0, 3}}, nil},
		{infer.Node{Op: infer.ResizeNearest, Scale: [2]int{60000, 60000}}, nil},
		{infer.Node{Op: infer.Concat, Axis: 3, Inputs: []infer.ValueID{0, 0, 0}}, []int{1, 4, 6, 6}},
		{infer.Node{Op: infer.Concat, Axis: 4}, nil},
		{infer.Node{Op: infer.Add, Inputs: []infer.ValueID{0, 2}}, []int{1, 4, 6, 2}},
		{infer.Node{Op: infer.Add, Inputs: []infer.ValueID{0, 3}}, nil},
	}
	for _, c := range cases {
		g := &infer.Graph{Values: []infer.Value{{Shape: image}, {Shape: []int{48}}, {Shape: []int{6, 1}}, {Shape: []int{3}}}}
		c.node.Outputs = []infer.ValueID{1}
		if c.node.Inputs == nil {
			c.node.Inputs = []infer.ValueID{0}
		}
		got, err := g.OutputShape(&c.node)
		if (err != nil) != (c.want == nil) || err == nil && !slices.Equal(got, c.want) {
			t.Errorf("%+v: shape %v, error %v; want %v", c.node, got, err, c.want)
		}
	}
}
