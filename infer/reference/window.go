package reference

import (
	"math"

	"facetrack/infer"
)

// maxPool takes the largest element of each window; what the pads add never wins.
func maxPool(y, x []float32, in, out []int, n *infer.Node) {
	h, w, c := in[1], in[2], in[3]
	for b := range in[0] {
		image := x[b*h*w*c:][:h*w*c]
		for oy := range out[1] {
			y0, y1 := span(oy, n.Stride[0], n.Pads[0], n.Kernel[0], h)
			for ox := range out[2] {
				x0, x1 := span(ox, n.Stride[1], n.Pads[1], n.Kernel[1], w)
				poolWindow(y[:c], image, w, y0, y1, x0, x1)
				y = y[c:]
			}
		}
	}
}

// span is the part of a window that lies inside the input.
func span(i, stride, pad, kernel, size int) (lo, hi int) {
	lo = i*stride - pad
	return max(lo, 0), min(lo+kernel, size)
}

func poolWindow(y, image []float32, width, y0, y1, x0, x1 int) {
	for c := range y {
		y[c] = float32(math.Inf(-1))
	}
	for iy := y0; iy < y1; iy++ {
		for ix := x0; ix < x1; ix++ {
			for c, v := range image[(iy*width+ix)*len(y):][:len(y)] {
				y[c] = max(y[c], v)
			}
		}
	}
}

// resizeNearest repeats pixels: source index = floor(output index / factor).
func resizeNearest(y, x []float32, out []int, scale [2]int) {
	h, w, c := out[1], out[2], out[3]
	sh, sw := h/scale[0], w/scale[1]
	for b := range out[0] {
		for oy := range h {
			row := x[(b*sh+oy/scale[0])*sw*c:][:sw*c]
			for ox := range w {
				copy(y[:c], row[ox/scale[1]*c:])
				y = y[c:]
			}
		}
	}
}
