package infer

import "fmt"

// Op names an operator of the graph. Activations are NHWC, batch first.
type Op string

// The operators that both loaders map to.
const (
	Conv2D            Op = "Conv2D"            // in: x [N,H,W,C], w [O,KH,KW,C/Groups], optional bias [O]
	MaxPool2D         Op = "MaxPool2D"         // Kernel, Stride, Pads (padding never wins)
	Pad               Op = "Pad"               // Before, After per axis; zeros
	Add               Op = "Add"               // with broadcasting, as Sub, Mul, Div, SquaredDifference
	Sub               Op = "Sub"               //
	Mul               Op = "Mul"               //
	Div               Op = "Div"               //
	SquaredDifference Op = "SquaredDifference" //
	Neg               Op = "Neg"               //
	Sqrt              Op = "Sqrt"              //
	Rsqrt             Op = "Rsqrt"             //
	Logistic          Op = "Logistic"          // sigmoid
	Relu              Op = "Relu"              //
	PRelu             Op = "PRelu"             // in: x, slope [C]
	Mean              Op = "Mean"              // Axes, KeepDims
	Sum               Op = "Sum"               // Axes, KeepDims
	Transpose         Op = "Transpose"         // Perm
	Reshape           Op = "Reshape"           // to the shape of the output value
	Concat            Op = "Concat"            // Axis
	StridedSlice      Op = "StridedSlice"      // Begin, End, Steps per axis, already resolved to non-negative bounds
	ResizeNearest     Op = "ResizeNearest"     // Scale: integer factors {H,W}, source index = floor(i/scale)
)

// Activation is fused behind an operator: Relu and Relu6 behind Conv2D, MaxPool2D, Add, Sub, Mul and Div,
// PRelu behind Conv2D and Add.
type Activation uint8

// The activations that can be fused.
const (
	NoActivation Activation = iota
	ReluActivation
	Relu6Activation
	PReluActivation // slope is the node's last input, [C]
)

// ValueID indexes Graph.Values.
type ValueID int

// Value is an activation or a constant: Data is nil for an activation.
type Value struct {
	Name  string
	Shape []int
	Data  []float32
}

// Len is the number of elements.
func (v *Value) Len() int {
	n := 1
	for _, d := range v.Shape {
		n *= d
	}
	return n
}

// Node is one operator. Fields that its Op does not name are zero.
type Node struct {
	Op         Op
	Name       string
	Inputs     []ValueID
	Outputs    []ValueID
	Kernel     [2]int // height, width
	Stride     [2]int
	Dilation   [2]int
	Pads       [4]int // top, left, bottom, right
	Groups     int
	Activation Activation
	Axes       []int
	KeepDims   bool
	Axis       int
	Perm       []int
	Before     []int
	After      []int
	Begin      []int
	End        []int
	Steps      []int
	Scale      [2]int
}

// Graph is a network: nodes in topological order over values with static shapes for batch size 1.
type Graph struct {
	Name    string
	Values  []Value
	Nodes   []Node
	Inputs  []ValueID
	Outputs []ValueID
}

// Info describes an input or output for batch size 1.
type Info struct {
	Name  string
	Shape []int
}

// Len is the number of elements of one batch item.
func (i Info) Len() int {
	n := 1
	for _, d := range i.Shape {
		n *= d
	}
	return n
}

// InputInfo describes the graph's inputs in order.
func (g *Graph) InputInfo() []Info { return g.infos(g.Inputs) }

// OutputInfo describes the graph's outputs in order.
func (g *Graph) OutputInfo() []Info { return g.infos(g.Outputs) }

func (g *Graph) infos(ids []ValueID) []Info {
	out := make([]Info, len(ids))
	for i, id := range ids {
		out[i] = Info{Name: g.Values[id].Name, Shape: g.Values[id].Shape}
	}
	return out
}

// Slope is the constant slope of a fused PReluActivation or of a PRelu node.
func (n *Node) Slope() (ValueID, bool) {
	if n.Activation != PReluActivation && n.Op != PRelu || len(n.Inputs) == 0 {
		return 0, false
	}
	return n.Inputs[len(n.Inputs)-1], true
}

// Bias is the constant bias of a Conv2D. With a fused PReluActivation the slope comes after it, also when there is no bias.
func (n *Node) Bias() (ValueID, bool) {
	fused := 0
	if n.Activation == PReluActivation {
		fused = 1
	}
	if n.Op != Conv2D || len(n.Inputs)-fused < 3 {
		return 0, false
	}
	return n.Inputs[2], true
}

func (n *Node) String() string { return fmt.Sprintf("%s %q", n.Op, n.Name) }
