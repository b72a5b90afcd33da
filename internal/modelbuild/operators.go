package modelbuild

import (
	"fmt"
	"slices"
)

// Conv2D convolves x [N,H,W,C] with constant weights [O,KH,KW,C/groups] and an optional constant bias [O].
func (b *Builder) Conv2D(x, w, bias Tensor, opts ...Option) Tensor {
	a := apply(opts)
	xs, ws := b.Shape(x), b.constant("Conv2D", w).shape
	if len(xs) != 4 || len(ws) != 4 || xs[3] != ws[3]*a.groups || ws[0]%a.groups != 0 {
		panic(fmt.Sprintf("modelbuild: Conv2D of %v with weights %v in %d groups", xs, ws, a.groups))
	}
	if bias != None && !slices.Equal(b.constant("Conv2D", bias).shape, ws[:1]) {
		panic(fmt.Sprintf("modelbuild: Conv2D bias %v for weights %v", b.Shape(bias), ws))
	}
	a.kernel = [2]int{ws[1], ws[2]}
	return b.compute("CONV_2D", a.windowShape(xs, ws[0]), a, x, w, bias)
}

// Dense multiplies rows of K elements with constant weights [O,K] and adds an optional constant bias [O]: [N,O].
// TFLite only.
func (b *Builder) Dense(x, w, bias Tensor, opts ...Option) Tensor {
	ws := b.constant("Dense", w).shape
	rows := product(b.Shape(x)) / ws[1]
	if len(ws) != 2 || rows*ws[1] != product(b.Shape(x)) {
		panic(fmt.Sprintf("modelbuild: Dense of %v with weights %v", b.Shape(x), ws))
	}
	return b.compute("FULLY_CONNECTED", []int{rows, ws[0]}, apply(opts), x, w, bias)
}

// MaxPool takes the maximum over k×k windows.
func (b *Builder) MaxPool(x Tensor, k int, opts ...Option) Tensor {
	a := apply(opts)
	a.kernel = [2]int{k, k}
	xs := b.Shape(x)
	return b.compute("MAX_POOL_2D", a.windowShape(xs, xs[3]), a, x)
}

// Relu is max(x, 0) as a node of its own.
func (b *Builder) Relu(x Tensor) Tensor { return b.compute("RELU", b.Shape(x), attributes{}, x) }

// Logistic is the sigmoid.
func (b *Builder) Logistic(x Tensor) Tensor {
	return b.compute("LOGISTIC", b.Shape(x), attributes{}, x)
}

// Neg is -x.
func (b *Builder) Neg(x Tensor) Tensor { return b.compute("NEG", b.Shape(x), attributes{}, x) }

// Sqrt is the square root.
func (b *Builder) Sqrt(x Tensor) Tensor { return b.compute("SQRT", b.Shape(x), attributes{}, x) }

// Rsqrt is 1/√x; TFLite only.
func (b *Builder) Rsqrt(x Tensor) Tensor { return b.compute("RSQRT", b.Shape(x), attributes{}, x) }

// PRelu multiplies negative elements with a constant slope per channel [C].
func (b *Builder) PRelu(x, slope Tensor) Tensor {
	xs := b.Shape(x)
	if !slices.Equal(b.constant("PRelu", slope).shape, xs[len(xs)-1:]) {
		panic(fmt.Sprintf("modelbuild: PRelu slopes %v for %v", b.Shape(slope), xs))
	}
	return b.compute("PRELU", xs, attributes{}, x, slope)
}

// Add is x + y with broadcasting.
func (b *Builder) Add(x, y Tensor, opts ...Option) Tensor { return b.binary("ADD", x, y, opts) }

// Sub is x - y with broadcasting.
func (b *Builder) Sub(x, y Tensor, opts ...Option) Tensor { return b.binary("SUB", x, y, opts) }

// Mul is x × y with broadcasting.
func (b *Builder) Mul(x, y Tensor, opts ...Option) Tensor { return b.binary("MUL", x, y, opts) }

// Div is x / y with broadcasting.
func (b *Builder) Div(x, y Tensor, opts ...Option) Tensor { return b.binary("DIV", x, y, opts) }

// SquaredDifference is (x - y)² with broadcasting; TFLite only.
func (b *Builder) SquaredDifference(x, y Tensor) Tensor {
	return b.binary("SQUARED_DIFFERENCE", x, y, nil)
}

func (b *Builder) binary(op string, x, y Tensor, opts []Option) Tensor {
	return b.compute(op, broadcast(op, b.Shape(x), b.Shape(y)), apply(opts), x, y)
}

// Mean averages over axes; TFLite only.
func (b *Builder) Mean(x Tensor, keepDims bool, axes ...int) Tensor {
	return b.reduce("MEAN", x, keepDims, axes)
}

// Sum adds over axes; TFLite only.
func (b *Builder) Sum(x Tensor, keepDims bool, axes ...int) Tensor {
	return b.reduce("SUM", x, keepDims, axes)
}

func (b *Builder) reduce(op string, x Tensor, keepDims bool, axes []int) Tensor {
	var shape []int
	for a, d := range b.Shape(x) {
		if !slices.Contains(axes, a) {
			shape = append(shape, d)
		} else if keepDims {
			shape = append(shape, 1)
		}
	}
	return b.compute(op, shape, attributes{axes: axes, keepDims: keepDims}, x)
}
