package reference

// packDepthwise lays the weights out as [tap][channel].
func (v *convolution) packDepthwise(w []float32) {
	c := v.out[3]
	v.weights, v.sums = make([]float64, v.taps*c), make([]float64, c)
	for o := range c {
		for t := range v.taps {
			v.weights[t*c+o] = float64(w[o*v.taps+t])
		}
	}
}

// runDepthwise handles one input and one output channel per group: all channels of a tap lie side by side.
func (v *convolution) runDepthwise() {
	y := v.y
	for b := range v.out[0] {
		for oy := range v.out[1] {
			for ox := range v.out[2] {
				copy(v.sums, v.bias)
				v.depthwisePixel(v.sums, b, oy, ox)
				for i, s := range v.sums {
					y[i] = float32(s)
				}
				y = y[len(v.sums):]
			}
		}
	}
}

func (v *convolution) depthwisePixel(sums []float64, b, oy, ox int) {
	n, h, w, c := v.node, v.in[1], v.in[2], len(sums)
	for ky := range n.Kernel[0] {
		iy := oy*n.Stride[0] - n.Pads[0] + ky*n.Dilation[0]
		if iy < 0 || iy >= h {
			continue
		}
		for kx := range n.Kernel[1] {
			ix := ox*n.Stride[1] - n.Pads[1] + kx*n.Dilation[1]
			if ix < 0 || ix >= w {
				continue
			}
			src := v.x[((b*h+iy)*w+ix)*c:][:len(sums)]
			weights := v.weights[(ky*n.Kernel[1]+kx)*c:][:len(sums)]
			for i := range sums {
				sums[i] += float64(src[i]) * weights[i]
			}
		}
	}
}
