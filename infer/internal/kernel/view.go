// Package kernel has the scalar arithmetic and index computations that constant folding and the reference backend share.
package kernel

// View addresses elements of a tensor: index (i0, i1, …) of Shape is element Offset + Σ i×Stride.
type View struct {
	Offset  int
	Shape   []int
	Strides []int
}

// Dense is the view of a whole tensor in row-major order.
func Dense(shape []int) View {
	strides := make([]int, len(shape))
	n := 1
	for a := len(shape) - 1; a >= 0; a-- {
		strides[a] = n
		n *= shape[a]
	}
	return View{Shape: shape, Strides: strides}
}

// Broadcast is the view of a tensor repeated to a larger shape; axes are aligned at the last.
func Broadcast(shape, to []int) View {
	dense := Dense(shape)
	v := View{Shape: to, Strides: make([]int, len(to))}
	for a := range shape {
		if shape[a] > 1 {
			v.Strides[len(to)-len(shape)+a] = dense.Strides[a]
		}
	}
	return v
}

// Transpose orders the axes of v by perm.
func (v View) Transpose(perm []int) View {
	out := View{Offset: v.Offset, Shape: make([]int, len(perm)), Strides: make([]int, len(perm))}
	for i, p := range perm {
		out.Shape[i], out.Strides[i] = v.Shape[p], v.Strides[p]
	}
	return out
}

// Window starts v at begin and goes on by steps, for shape.
func (v View) Window(begin, steps, shape []int) View {
	out := View{Offset: v.Offset, Shape: shape, Strides: make([]int, len(shape))}
	for a, s := range v.Strides {
		out.Offset += begin[a] * s
		out.Strides[a] = s * steps[a]
	}
	return out
}

// Fold makes the given axes address the same element.
func (v View) Fold(axes []int) View {
	out := View{Offset: v.Offset, Shape: v.Shape, Strides: append([]int(nil), v.Strides...)}
	for _, a := range axes {
		out.Strides[a] = 0
	}
	return out
}

// Indices lists the elements that v addresses, in row-major order of its shape.
func (v View) Indices() []int32 {
	n := 1
	for _, d := range v.Shape {
		n *= d
	}
	out := make([]int32, n)
	index := make([]int, len(v.Shape))
	at := v.Offset
	for i := range out {
		out[i] = int32(at)
		for a := len(index) - 1; a >= 0; a-- {
			index[a]++
			at += v.Strides[a]
			if index[a] < v.Shape[a] {
				break
			}
			at -= index[a] * v.Strides[a]
			index[a] = 0
		}
	}
	return out
}
