package nn

import "slices"

// walk is the same elements of some views as a shape and strides, by as few axes as a kernel needs.
type walk struct {
	shape   []int
	strides [][]int // of each view
	wide    bool    // the last axis counts fours of elements that lie side by side
}

// newWalk joins the axes of views of a shape; the last view is written.
func newWalk(shape []int, views ...View) walk {
	w := walk{shape: slices.Clone(shape)}
	for _, v := range views {
		w.strides = append(w.strides, slices.Clone(v.Strides))
	}
	for a := len(shape) - 1; a >= 0; a-- {
		switch {
		case w.shape[a] == 1:
			w.remove(a)
		case a+1 < len(w.shape) && w.joins(a):
			w.shape[a+1] *= w.shape[a]
			w.remove(a)
		}
	}
	w.widen(views)
	return w
}

func (w *walk) remove(axis int) {
	w.shape = slices.Delete(w.shape, axis, axis+1)
	for i, s := range w.strides {
		w.strides[i] = slices.Delete(s, axis, axis+1)
	}
}

// joins says that all views go through an axis and the next in one stride.
func (w *walk) joins(axis int) bool {
	return !slices.ContainsFunc(w.strides, func(s []int) bool { return s[axis] != s[axis+1]*w.shape[axis+1] })
}

// widen lets the last axis count fours, if each view then has four elements side by side, aligned, or the same one four times.
func (w *walk) widen(views []View) {
	last := len(w.shape) - 1
	if last < 0 || w.shape[last]%4 != 0 {
		return
	}
	for i, v := range views {
		steps := append(w.strides[i][:last:last], v.Item)
		odd := slices.ContainsFunc(steps, func(s int) bool { return s%4 != 0 }) || v.Address%uint64(4*v.Precision.Bytes()) != 0
		repeated := w.strides[i][last] == 0 && i+1 < len(views)
		if !repeated && (odd || w.strides[i][last] != 1) {
			return
		}
	}
	w.wide = true
	w.shape[last] /= 4
	for _, s := range w.strides {
		s[last] *= 4
	}
}

// kernel is a kernel's name.
func (w *walk) kernel(name string) string {
	if w.wide {
		return name + "4"
	}
	return name
}

// arguments appends the shape and the strides.
func (w *walk) arguments(args []any) []any {
	args = axes(args, w.shape, 1)
	for _, s := range w.strides {
		args = axes(args, s, 0)
	}
	return args
}
