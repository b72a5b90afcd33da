package gpu

import (
	"fmt"

	"facetrack/infer"
	"facetrack/internal/kernels/nn"
)

// image is the shape of one image of a value, and count how many it has.
func (p *program) image(id infer.ValueID) (m nn.Image, count int) {
	s := p.shape(id)
	return nn.Image{H: s[1], W: s[2], C: s[3]}, s[0]
}

// longestSide is what convolutions take of an image's height or width at most.
const longestSide = 1<<15 - 1

func (l *planner) conv(o *op) error {
	if l.isDepthwise(o) {
		return l.depthwise(o)
	}
	p := l.plan.precision
	in, images := l.image(o.Inputs[0])
	out, _ := l.image(o.out())
	if l.isPointwise(o) && o.residual != nn.PooledResidual && max(in.H, in.W) > longestSide {
		images *= in.H * in.W // each pixel by itself
		in.H, in.W, out.H, out.W = 1, 1, 1, 1
	}
	kernel, weights, err := widened(o, in.C, out.C)
	if err != nil {
		return err
	}
	c := nn.Conv{In: in, Out: out, Kernel: kernel, Stride: o.Stride, Pads: o.Pads, Act: o.act}
	w := nn.ConvWeights{W: weights, Bias: o.bias, Slope: o.slope}
	if f := o.front; f != nil {
		c.Front = &nn.Depthwise{In: in, Kernel: f.Kernel, Stride: f.Stride, Pads: f.Pads, Act: f.act}
		w.FrontW, w.FrontBias, w.FrontSlope = f.weights, f.bias, f.slope
	}
	x, residual := l.items(o, o.Inputs[0], p), ref{}
	uses := []ref{x}
	if c.Residual = o.residual; c.Residual != nn.NoResidual {
		c.ResidualC = l.channels(o.Inputs[1])
		residual = l.items(o, o.Inputs[1], p)
		uses = append(uses, residual)
	}
	y, finish := l.target(o, p, true, images == 1)
	b := &l.plan.buffers[y.buffer]
	c.OutFloat = b.precision == nn.F32
	if b.len != out.Len()*images {
		c.OutItem = b.len
	}
	constants := l.constant(func(set *nn.Set) ([]byte, error) { return set.PackConv(p, c, w) })
	l.add(o, "conv", func(r *run) error {
		at := nn.ConvAt{X: r.at(x), Y: r.at(y), Constants: r.at(constants)}
		if c.Residual != nn.NoResidual {
			at.Residual = r.at(residual)
		}
		return r.set.Conv(r.stream, p, c, at, r.batch*images)
	}, append(uses, y)...)
	finish()
	return nil
}

func (l *planner) depthwise(o *op) error {
	p := l.plan.precision
	in, images := l.image(o.Inputs[0])
	out, _ := l.image(o.out())
	kernel, weights, err := widened(o, 1, in.C)
	if err != nil {
		return err
	}
	d := nn.Depthwise{In: in, Kernel: kernel, Stride: o.Stride, Pads: o.Pads, Act: o.act}
	x := l.items(o, o.Inputs[0], p)
	y, finish := l.target(o, p, true, false)
	d.OutFloat = l.plan.buffers[y.buffer].precision == nn.F32
	constants := l.constant(func(set *nn.Set) ([]byte, error) { return set.PackDepthwise(p, d, weights, o.bias, o.slope) })
	l.add(o, "depthwise", func(r *run) error {
		return r.set.Depthwise(r.stream, p, d, out, r.at(x), r.at(y), r.at(constants), r.batch*images)
	}, x, y)
	finish()
	return nil
}

func (l *planner) pool(o *op) error {
	p := l.natural(o, l.kept)
	in, images := l.image(o.Inputs[0])
	out, _ := l.image(o.out())
	x := l.items(o, o.Inputs[0], p)
	y, finish := l.target(o, p, false, false)
	l.add(o, "pool", func(r *run) error {
		return r.set.MaxPool(r.stream, p, in, out, o.Kernel, o.Stride, o.Pads, o.act, r.at(x), r.at(y), r.batch*images)
	}, x, y)
	finish()
	return nil
}

// widened gives the weights [O][KH][KW][I] of a convolution without groups and dilation: zeros stand for what these leave out. I is in;
// for a depthwise convolution it is 1.
func widened(o *op, in, out int) (kernel [2]int, weights []float32, err error) {
	kernel = [2]int{(o.Kernel[0]-1)*o.Dilation[0] + 1, (o.Kernel[1]-1)*o.Dilation[1] + 1}
	depth := len(o.weights) / (out * o.Kernel[0] * o.Kernel[1]) // input channels of a group
	if kernel == o.Kernel && depth == in {
		return kernel, o.weights, nil
	}
	if kernel[0] > infer.MaxElements/kernel[1]/in/out {
		return kernel, nil, fmt.Errorf("kernel %v with dilation %v and %d groups is too large for this backend", o.Kernel, o.Dilation, o.Groups)
	}
	weights = make([]float32, out*kernel[0]*kernel[1]*in)
	perGroup := out / (in / depth)
	for i, v := range o.weights {
		c, tap := i%depth, i/depth
		x, y, of := tap%o.Kernel[1]*o.Dilation[1], tap/o.Kernel[1]%o.Kernel[0]*o.Dilation[0], tap/o.Kernel[1]/o.Kernel[0]
		weights[((of*kernel[0]+y)*kernel[1]+x)*in+of/perGroup*depth+c] = v
	}
	return kernel, weights, nil
}
