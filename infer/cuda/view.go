package gpu

import (
	"facetrack/infer"
	"facetrack/infer/internal/kernel"
	"facetrack/internal/kernels/nn"
)

// view addresses elements of a value: index (i0, i1, …) of shape is element Σ i×stride behind ref, and item further for each item
// of a batch.
type view struct {
	ref
	shape, strides []int
	item           int
}

// view shows what lies at x, whole items of a buffer or a constant, through v.
func (l *planner) view(x ref, v kernel.View) view {
	x.offset += v.Offset
	return view{x, v.Shape, v.Strides, l.plan.buffers[x.buffer].len}
}

// whole is a value as it is.
func (l *planner) whole(x ref, id infer.ValueID) view { return l.view(x, kernel.Dense(l.shape(id))) }

// list is n elements one behind the other.
func (l *planner) list(x ref, n int) view { return l.view(x, kernel.Dense([]int{n})) }

// view is what a kernel is given.
func (r *run) view(v view) nn.View {
	return nn.View{Address: r.at(v.ref), Precision: r.plan.buffers[v.buffer].precision, Strides: v.strides, Item: v.item}
}

// enlarged shows an image [N,H,W,C] with every pixel repeated, as [N,H,scale,W,scale,C].
func enlarged(shape []int, scale [2]int) kernel.View {
	d := kernel.Dense(shape).Strides
	return kernel.View{
		Shape:   []int{shape[0], shape[1], scale[0], shape[2], scale[1], shape[3]},
		Strides: []int{d[0], d[1], 0, d[2], 0, d[3]},
	}
}
