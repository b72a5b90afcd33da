//go:build xnnpack

package xnnpack

// #include <xnnpack.h>
import "C"

import (
	"fmt"
	"math"

	"facetrack/infer"
)

// define adds the operator to the subgraph; its values are defined already.
func (b *operator) define(n *node) error {
	switch n.Op {
	case infer.Conv2D:
		return b.defineConv(n)
	case infer.MaxPool2D:
		return b.defineMaxPool(n)
	case infer.Pad:
		return b.definePad(n)
	case infer.PRelu:
		return b.definePRelu(n)
	case infer.Add, infer.Sub, infer.Mul, infer.Div, infer.SquaredDifference:
		return b.defineBinary(n)
	}
	return b.defineUnary(n)
}

// clamp is the activation as the bounds that XNNPACK clips results to.
func clamp(a infer.Activation) (low, high C.float) {
	low, high = C.float(math.Inf(-1)), C.float(math.Inf(1))
	switch a {
	case infer.ReluActivation:
		low = 0
	case infer.Relu6Activation:
		low, high = 0, 6
	}
	return low, high
}

func (b *operator) defineUnary(n *node) error {
	in, out := b.ids[n.Inputs[0]], b.ids[n.Outputs[0]]
	var status C.enum_xnn_status
	switch n.Op {
	case infer.Neg:
		status = C.xnn_define_negate(b.graph, in, out, 0)
	case infer.Sqrt:
		status = C.xnn_define_square_root(b.graph, in, out, 0)
	case infer.Logistic:
		status = C.xnn_define_sigmoid(b.graph, in, out, 0)
	case infer.Relu:
		low, high := clamp(infer.ReluActivation)
		status = C.xnn_define_clamp(b.graph, low, high, in, out, 0)
	default:
		return fmt.Errorf("%w: operator %s", ErrUnsupported, n.Op)
	}
	return check(status, "define "+string(n.Op))
}

func (b *operator) defineBinary(n *node) error {
	x, y, out := b.ids[n.Inputs[0]], b.ids[n.Inputs[1]], b.ids[n.Outputs[0]]
	low, high := clamp(n.Activation)
	var status C.enum_xnn_status
	switch n.Op {
	case infer.Add:
		status = C.xnn_define_add2(b.graph, low, high, x, y, out, 0)
	case infer.Sub:
		status = C.xnn_define_subtract(b.graph, low, high, x, y, out, 0)
	case infer.Mul:
		status = C.xnn_define_multiply2(b.graph, low, high, x, y, out, 0)
	case infer.Div:
		status = C.xnn_define_divide(b.graph, low, high, x, y, out, 0)
	case infer.SquaredDifference:
		if n.Activation != infer.NoActivation {
			return fmt.Errorf("%w: activation behind %s", ErrUnsupported, n.Op)
		}
		status = C.xnn_define_squared_difference(b.graph, x, y, out, 0)
	}
	return check(status, "define "+string(n.Op))
}

func (b *operator) definePad(n *node) error {
	before, after := make([]C.size_t, len(n.Before)), make([]C.size_t, len(n.After))
	for i := range before {
		before[i], after[i] = C.size_t(n.Before[i]), C.size_t(n.After[i])
	}
	status := C.xnn_define_static_constant_pad(b.graph, &before[0], &after[0], 0, b.ids[n.Inputs[0]], b.ids[n.Outputs[0]], 0)
	return check(status, "define Pad")
}

func (b *operator) definePRelu(n *node) error {
	slope := n.Inputs[1]
	if !b.p.isConstant(slope) {
		return fmt.Errorf("%w: the slope is computed; it must be a constant", ErrUnsupported)
	}
	data := b.p.data(slope)
	id, err := b.constant([]int{len(data)}, data)
	if err != nil {
		return err
	}
	return check(C.xnn_define_prelu(b.graph, b.ids[n.Inputs[0]], id, b.ids[n.Outputs[0]], 0), "define PRelu")
}

func (b *operator) defineMaxPool(n *node) error {
	low, high := clamp(n.Activation)
	dilation := orOnes(n.Dilation)
	status := C.xnn_define_max_pooling_2d(b.graph,
		C.uint32_t(n.Pads[0]), C.uint32_t(n.Pads[3]), C.uint32_t(n.Pads[2]), C.uint32_t(n.Pads[1]),
		C.uint32_t(n.Kernel[0]), C.uint32_t(n.Kernel[1]), C.uint32_t(n.Stride[0]), C.uint32_t(n.Stride[1]),
		C.uint32_t(dilation[0]), C.uint32_t(dilation[1]), low, high, b.ids[n.Inputs[0]], b.ids[n.Outputs[0]], 0)
	return check(status, "define MaxPool2D")
}

// orOnes reads a pair that may be left zero for "1".
func orOnes(v [2]int) [2]int { return [2]int{max(v[0], 1), max(v[1], 1)} }
