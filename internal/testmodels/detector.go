package testmodels

import mb "facetrack/internal/modelbuild"

const (
	detectorSize = 160 // input, px
	frameHeight  = 120 // of a 4:3 frame in that input
	stride       = 8
	scoreWindow  = 24 // just holds a face
	placeWindow  = 40 // holds a face that is half a stride off
	keyPoints    = 5
)

// Detector is an ONNX network with YuNet's outputs for 160×160 px.
func Detector() []byte {
	b := mb.New("synthetic faces")
	red := redness(b, b.Input("input", 1, detectorSize, detectorSize, 3), [3]float32{-0.5, -0.5, 1}, redFloor)
	diameter := frameHeight * faceHeights
	full := float32((skinRedness - redFloor) * faceArea * diameter * diameter)
	cells := detectorSize / stride
	score := window(b, red, scoreWindow, [][]float32{fill(scoreWindow, func(_, _ float64) float64 { return 12 / float64(full) })}, []float32{-9})
	output(b, "cls_8", b.Logistic(score), cells, 1)
	output(b, "obj_8", b.Logistic(flat(b, red, scoreWindow, []float32{10})), cells, 1)
	place := func(dx, dy float64) []float32 { // offset from the cell's corner, in strides
		return []float32{float32(0.5 + dx*diameter/stride), float32(0.5 + (dy-centroidY)*diameter/stride)}
	}
	x := fill(placeWindow, func(x, _ float64) float64 { return x / float64(full) / stride })
	y := fill(placeWindow, func(_, y float64) float64 { return y / float64(full) / stride })
	still := make([]float32, placeWindow*placeWindow)
	logSize := float32(1.0986123) // ln(24/8)
	output(b, "bbox_8", window(b, red, placeWindow, [][]float32{x, y, still, still}, append(place(0, 0), logSize, logSize)), cells, 4)
	var kernels [][]float32
	var bias []float32
	for _, p := range [keyPoints][2]float64{{-0.18, -0.12}, {0.18, -0.12}, {0, 0.04}, {-0.18, 0.2}, {0.18, 0.2}} {
		kernels, bias = append(kernels, x, y), append(bias, place(p[0], p[1])...)
	}
	output(b, "kps_8", window(b, red, placeWindow, kernels, bias), cells, 2*keyPoints)
	for scale, name := range map[int]string{2: "16", 4: "32"} {
		small := b.MaxPool(red, scale, mb.Stride(scale))
		n := cells / scale
		output(b, "cls_"+name, b.Logistic(flat(b, small, scoreWindow, []float32{-20})), n, 1)
		output(b, "obj_"+name, b.Logistic(flat(b, small, scoreWindow, []float32{-20})), n, 1)
		output(b, "bbox_"+name, flat(b, small, placeWindow, make([]float32, 4)), n, 4)
		output(b, "kps_"+name, flat(b, small, placeWindow, make([]float32, 2*keyPoints)), n, 2*keyPoints)
	}
	return b.ONNX()
}

// redness is how far red exceeds the mean of the other channels by more than floor.
func redness(b *mb.Builder, x mb.Tensor, weights [3]float32, floor float32) mb.Tensor {
	return b.Conv2D(x, b.Const([]int{1, 1, 1, 3}, weights[:]), b.Const([]int{1}, []float32{-floor}), mb.Relu())
}

// window convolves with kernels of size × size whose windows are centred on the cells.
func window(b *mb.Builder, x mb.Tensor, size int, kernels [][]float32, bias []float32) mb.Tensor {
	var weights []float32
	for _, k := range kernels {
		weights = append(weights, k...)
	}
	pad := (size - stride) / 2
	return b.Conv2D(x, b.Const([]int{len(kernels), size, size, 1}, weights), b.Const([]int{len(bias)}, bias),
		mb.Stride(stride), mb.Pads(pad, pad, pad, pad))
}

// flat is window with kernels of zeros: the bias everywhere.
func flat(b *mb.Builder, x mb.Tensor, size int, bias []float32) mb.Tensor {
	kernels := make([][]float32, len(bias))
	for i := range kernels {
		kernels[i] = make([]float32, size*size)
	}
	return window(b, x, size, kernels, bias)
}

// fill makes a kernel from a function of the distance from the window's centre, px.
func fill(size int, f func(x, y float64) float64) []float32 {
	k := make([]float32, 0, size*size)
	for i := range size {
		for j := range size {
			k = append(k, float32(f(float64(j)+0.5-float64(size)/2, float64(i)+0.5-float64(size)/2)))
		}
	}
	return k
}

func output(b *mb.Builder, name string, x mb.Tensor, cells, width int) {
	b.Output(name, b.Reshape(x, 1, cells*cells, width))
}
