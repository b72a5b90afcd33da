package modelbuild

import (
	"fmt"
	"slices"
)

// Pad adds zeros before and after each axis; TFLite only.
func (b *Builder) Pad(x Tensor, before, after []int) Tensor {
	shape := b.Shape(x)
	for a := range shape {
		shape[a] += before[a] + after[a]
	}
	return b.compute("PAD", shape, attributes{before: before, after: after}, x)
}

// Reshape keeps the elements' order (of NHWC) under a new shape; one dimension may be -1.
func (b *Builder) Reshape(x Tensor, shape ...int) Tensor {
	have, shape := product(b.Shape(x)), slices.Clone(shape)
	if free := slices.Index(shape, -1); free >= 0 {
		shape[free] = -have / product(shape)
	}
	if product(shape) != have {
		panic(fmt.Sprintf("modelbuild: Reshape of %v to %v", b.Shape(x), shape))
	}
	return b.compute("RESHAPE", shape, attributes{}, x)
}

// Concat joins tensors along an axis.
func (b *Builder) Concat(axis int, xs ...Tensor) Tensor {
	shape := b.Shape(xs[0])
	for _, x := range xs[1:] {
		shape[axis] += b.Shape(x)[axis]
	}
	return b.compute("CONCATENATION", shape, attributes{axis: axis}, xs...)
}

// Transpose orders the axes by perm.
func (b *Builder) Transpose(x Tensor, perm ...int) Tensor {
	var shape []int
	for _, p := range perm {
		shape = append(shape, b.Shape(x)[p])
	}
	return b.compute("TRANSPOSE", shape, attributes{perm: perm}, x)
}

// StridedSlice takes begin, begin+step, … below end of each axis; negative bounds count from the axis's end.
// TFLite only.
func (b *Builder) StridedSlice(x Tensor, begin, end, steps []int, m Masks) Tensor {
	var shape []int
	for a, d := range b.Shape(x) {
		lo, hi := (begin[a]+d)%d, end[a]
		if hi < 0 {
			hi += d
		}
		if m.Begin>>a&1 != 0 {
			lo = 0
		}
		if m.End>>a&1 != 0 {
			hi = d
		}
		if m.Shrink>>a&1 == 0 {
			shape = append(shape, (min(hi, d)-lo+steps[a]-1)/steps[a])
		}
	}
	return b.compute("STRIDED_SLICE", shape, attributes{begin: begin, end: end, steps: steps, masks: m}, x)
}

// ResizeNearest repeats pixels sh times down and sw times across; ONNX only.
func (b *Builder) ResizeNearest(x Tensor, sh, sw int) Tensor {
	s := b.Shape(x)
	return b.compute("Resize", []int{s[0], s[1] * sh, s[2] * sw, s[3]}, attributes{scale: [2]int{sh, sw}}, x)
}

// windowShape is the shape behind a sliding window, and resolves Same to pads.
func (a *attributes) windowShape(x []int, channels int) []int {
	out := []int{x[0], 0, 0, channels}
	for i := range 2 {
		size, reach := x[i+1], (a.kernel[i]-1)*a.dilation[i]+1
		if a.same {
			n := (size + a.stride[i] - 1) / a.stride[i]
			total := max((n-1)*a.stride[i]+reach-size, 0)
			a.pads[i], a.pads[i+2] = total/2, total-total/2
		}
		out[i+1] = (size+a.pads[i]+a.pads[i+2]-reach)/a.stride[i] + 1
	}
	return out
}

func broadcast(op string, x, y []int) []int {
	if len(x) < len(y) {
		x, y = y, x
	}
	out := slices.Clone(x)
	for i := range y {
		at := len(x) - len(y) + i
		if x[at] != y[i] && x[at] != 1 && y[i] != 1 {
			panic(fmt.Sprintf("modelbuild: %s of %v and %v", op, x, y))
		}
		out[at] = max(x[at], y[i])
	}
	return out
}
