package reference

import "facetrack/infer"

// convolution is Conv2D with weights widened to float64 and laid out for the inner loops.
type convolution struct {
	x, y    []float32
	in, out []int // NHWC
	node    *infer.Node
	weights []float64
	bias    []float64 // one per output channel; zeros when the node has none
	taps    int       // kernel height × width
	depth   int       // input channels of a group
	width   int       // output channels of a group
	sums    []float64 // of one pixel, depthwise only
}

func (c *compiler) conv(n *infer.Node) func() {
	v := &convolution{
		x: c.buffer(n.Inputs[0]), y: c.buffer(n.Outputs[0]),
		in: c.shape(n.Inputs[0]), out: c.shape(n.Outputs[0]), node: n,
	}
	v.taps, v.depth, v.width = n.Kernel[0]*n.Kernel[1], v.in[3]/n.Groups, v.out[3]/n.Groups
	v.bias = make([]float64, v.out[3])
	if id, ok := n.Bias(); ok {
		for i, b := range c.buffer(id) {
			v.bias[i] = float64(b)
		}
	}
	w := c.buffer(n.Inputs[1])
	if v.depth == 1 && v.width == 1 {
		v.packDepthwise(w)
		return v.runDepthwise
	}
	v.pack(w)
	patches := [2][]float64{make([]float64, v.taps*v.depth), make([]float64, v.taps*v.depth)}
	return func() { v.run(patches) }
}

// pack interleaves the weights of four output channels at a time: [group][channel/4][tap×depth][4], zeros at the end.
func (v *convolution) pack(w []float32) {
	k, blocks := v.taps*v.depth, (v.width+3)/4
	v.weights = make([]float64, v.node.Groups*blocks*k*4)
	for o := range v.out[3] {
		g, r := o/v.width, o%v.width
		block := v.weights[(g*blocks+r/4)*k*4:]
		for i := range k {
			block[4*i+r%4] = float64(w[o*k+i])
		}
	}
}

// run computes two neighbouring output pixels at a time.
func (v *convolution) run(patches [2][]float64) {
	rowWidth := v.out[2] * v.out[3]
	for row := range v.out[0] * v.out[1] {
		b, oy := row/v.out[1], row%v.out[1]
		y := v.y[row*rowWidth:][:rowWidth]
		for ox := 0; ox < v.out[2]; ox += 2 {
			next := min(ox+1, v.out[2]-1)
			for g := range v.node.Groups {
				v.patch(patches[0], b, oy, ox, g)
				v.patch(patches[1], b, oy, next, g)
				v.group(g, patches, y[ox*v.out[3]:][:v.out[3]], y[next*v.out[3]:][:v.out[3]])
			}
		}
	}
}

// patch gathers the window of one output pixel, zeros where it leaves the input.
func (v *convolution) patch(dst []float64, b, oy, ox, g int) {
	n, h, w, c := v.node, v.in[1], v.in[2], v.in[3]
	for ky := range n.Kernel[0] {
		iy := oy*n.Stride[0] - n.Pads[0] + ky*n.Dilation[0]
		for kx := range n.Kernel[1] {
			ix := ox*n.Stride[1] - n.Pads[1] + kx*n.Dilation[1]
			tap := dst[:v.depth]
			dst = dst[v.depth:]
			if iy < 0 || iy >= h || ix < 0 || ix >= w {
				clear(tap)
				continue
			}
			src := v.x[((b*h+iy)*w+ix)*c+g*v.depth:][:len(tap)]
			for i, s := range src {
				tap[i] = float64(s)
			}
		}
	}
}

// group writes the output channels of one group for two pixels.
func (v *convolution) group(g int, patches [2][]float64, y0, y1 []float32) {
	k, blocks := len(patches[0]), (v.width+3)/4
	for b := range blocks {
		s0, s1 := dot2x4(v.weights[(g*blocks+b)*k*4:][:k*4], patches[0], patches[1])
		for r := range min(4, v.width-4*b) {
			o := g*v.width + 4*b + r
			y0[o] = float32(s0[r] + v.bias[o])
			y1[o] = float32(s1[r] + v.bias[o])
		}
	}
}

// dot2x4 multiplies two patches with four interleaved rows of weights.
func dot2x4(w, p, q []float64) (s, t [4]float64) {
	var s0, s1, s2, s3, t0, t1, t2, t3 float64
	q = q[:len(p)]
	for i, a := range p {
		b := q[i]
		w4 := w[4*i : 4*i+4 : 4*i+4]
		s0 += a * w4[0]
		s1 += a * w4[1]
		s2 += a * w4[2]
		s3 += a * w4[3]
		t0 += b * w4[0]
		t1 += b * w4[1]
		t2 += b * w4[2]
		t3 += b * w4[3]
	}
	return [4]float64{s0, s1, s2, s3}, [4]float64{t0, t1, t2, t3}
}
