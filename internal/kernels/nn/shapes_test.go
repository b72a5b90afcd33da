package nn

import "math/rand/v2"

var (
	one, two, three = [2]int{1, 1}, [2]int{2, 2}, [2]int{3, 3}
	around          = [4]int{1, 1, 1, 1}
	behind          = [4]int{0, 0, 1, 1}
)

// made is the image that a window makes.
func (w window) made(c int) Image {
	return Image{(w.in.H+w.pads[0]+w.pads[2]-w.kernel[0])/w.stride[0] + 1, (w.in.W+w.pads[1]+w.pads[3]-w.kernel[1])/w.stride[1] + 1, c}
}

// unit is a depthwise 3×3 with stride 1 or 2, a 1×1 to n channels, a residual and an activation, as the networks are built of.
func unit(in Image, stride, n int, act Activation, residual Residual, residualC int) Conv {
	d := &Depthwise{In: in, Kernel: three, Stride: [2]int{stride, stride}, Pads: around, Act: act}
	if stride == 2 {
		d.Pads = behind
	}
	return Conv{In: in, Out: d.window().made(n), Kernel: one, Stride: one, Front: d, Residual: residual, ResidualC: residualC, Act: act}
}

func pointwise(in Image, n int, act Activation) Conv {
	return Conv{In: in, Out: Image{in.H, in.W, n}, Kernel: one, Stride: one, Act: act}
}

func full(in Image, n, kernel, stride int, pads [4]int, act Activation) Conv {
	w := window{in, [2]int{kernel, kernel}, [2]int{stride, stride}, pads}
	return Conv{In: in, Out: w.made(n), Kernel: w.kernel, Stride: w.stride, Pads: pads, Act: act}
}

// with changes a convolution.
func with(c Conv, change func(c *Conv)) Conv {
	change(&c)
	return c
}

func toFloat(c *Conv) { c.OutFloat = true }

// without takes the front's activation away, which the detectors do not have there.
func without(c *Conv) { c.Front.Act = None }

func into(item int) func(c *Conv) {
	return func(c *Conv) { c.OutFloat, c.OutItem = true, item }
}

var networkShapes = []struct {
	name  string
	c     Conv
	batch int
}{
	{"landmarks, the image", full(Image{32, 32, 3}, 16, 3, 2, behind, PRelu), 2},
	{"landmarks, 16", unit(Image{48, 32, 16}, 1, 16, PRelu, SameResidual, 16), 1},
	{"landmarks, 16 in a batch", unit(Image{16, 16, 16}, 1, 16, PRelu, SameResidual, 16), 40},
	{"landmarks, 16 to 32", unit(Image{16, 16, 16}, 2, 32, PRelu, PooledResidual, 16), 3},
	{"landmarks, 32", unit(Image{12, 12, 32}, 1, 32, PRelu, SameResidual, 32), 3},
	{"landmarks, 32 to 64", unit(Image{12, 12, 32}, 2, 64, PRelu, PooledResidual, 32), 1},
	{"landmarks, 64", unit(Image{12, 12, 64}, 1, 64, PRelu, SameResidual, 64), 1},
	{"landmarks, 64 to 128", unit(Image{24, 24, 64}, 2, 128, PRelu, PooledResidual, 64), 1},
	{"landmarks, 12×12", unit(Image{12, 12, 128}, 1, 128, PRelu, SameResidual, 128), 1},
	{"landmarks, 12×12 to 6×6", unit(Image{12, 12, 128}, 2, 128, PRelu, PooledResidual, 128), 1},
	{"landmarks, 6×6", unit(Image{6, 6, 128}, 1, 128, PRelu, SameResidual, 128), 1},
	{"landmarks, 6×6 in a batch", unit(Image{6, 6, 128}, 1, 128, PRelu, SameResidual, 128), 3},
	{"landmarks, 6×6 to 3×3", unit(Image{6, 6, 128}, 2, 128, PRelu, PooledResidual, 128), 3},
	{"landmarks, 3×3", unit(Image{3, 3, 128}, 1, 128, PRelu, SameResidual, 128), 1},
	{"landmarks, 3×3 in a batch", unit(Image{3, 3, 128}, 1, 128, PRelu, SameResidual, 128), 8},
	{"landmarks, to the heads", pointwise(Image{3, 3, 128}, 8, PRelu), 3},
	{"landmarks, of the heads", unit(Image{3, 3, 8}, 1, 8, PRelu, SameResidual, 8), 3},
	{"landmarks, presence", with(full(Image{3, 3, 8}, 1, 3, 1, [4]int{}, None), toFloat), 3},
	{"landmarks, points", with(full(Image{3, 3, 8}, 1434, 3, 1, [4]int{}, None), toFloat), 1},
	{"landmarks, points in a batch", with(full(Image{3, 3, 8}, 1434, 3, 1, [4]int{}, None), toFloat), 33},
	{"yunet, the image", full(Image{32, 32, 3}, 16, 3, 2, around, Relu), 1},
	{"yunet, 16", pointwise(Image{20, 20, 16}, 16, None), 1},
	{"yunet, 16 to 64", unit(Image{16, 16, 16}, 1, 64, Relu, NoResidual, 0), 1},
	{"yunet, 64", unit(Image{20, 20, 64}, 1, 64, Relu, NoResidual, 0), 1},
	{"yunet, 64 in a batch", unit(Image{10, 10, 64}, 1, 64, Relu, NoResidual, 0), 3},
	{"yunet, after pooling", pointwise(Image{10, 10, 64}, 64, None), 3},
	{"yunet, scores", with(unit(Image{10, 10, 64}, 1, 1, Relu, NoResidual, 0), toFloat), 3},
	{"yunet, boxes", with(unit(Image{10, 10, 64}, 1, 4, Relu, NoResidual, 0), func(c *Conv) { c.Act = Logistic }), 1},
	{"yunet, points", pointwise(Image{10, 10, 64}, 10, None), 3},
	{"blazeface, the image", full(Image{24, 24, 3}, 24, 5, 2, [4]int{1, 1, 2, 2}, Relu), 1},
	{"blazeface, 24", with(unit(Image{16, 16, 24}, 1, 24, Relu, SameResidual, 24), without), 2},
	{"blazeface, 24 to 28", with(unit(Image{16, 16, 24}, 1, 28, Relu, SameResidual, 24), without), 1},
	{"blazeface, 28 to 32", with(unit(Image{16, 16, 28}, 2, 32, Relu, PooledResidual, 28), without), 3},
	{"blazeface, 32 to 36", with(unit(Image{8, 8, 32}, 1, 36, Relu, SameResidual, 32), without), 1},
	{"blazeface, 36 to 42", with(unit(Image{8, 8, 36}, 1, 42, Relu, SameResidual, 36), without), 3},
	{"blazeface, 42 to 48", with(unit(Image{16, 16, 42}, 2, 48, Relu, PooledResidual, 42), without), 1},
	{"blazeface, 48 to 56", with(unit(Image{8, 8, 48}, 1, 56, Relu, SameResidual, 48), without), 1},
	{"blazeface, 72 to 80", with(unit(Image{8, 8, 72}, 1, 80, Relu, SameResidual, 72), without), 1},
	{"blazeface, 88 to 96", with(unit(Image{16, 16, 88}, 2, 96, Relu, PooledResidual, 88), without), 1},
	{"blazeface, 96", with(unit(Image{8, 8, 96}, 1, 96, Relu, SameResidual, 96), without), 3},
	{"blazeface, scores", with(pointwise(Image{8, 8, 88}, 2, None), into(2*64+6*16)), 3},
	{"blazeface, boxes", with(pointwise(Image{4, 4, 96}, 96, None), into(2000)), 3},
	{"blendshapes, from the points", pointwise(Image{1, 2, 146}, 96, None), 3},
	{"blendshapes, to the channels", pointwise(Image{1, 96, 2}, 64, None), 1},
	{"blendshapes, tokens", pointwise(Image{1, 64, 97}, 384, Relu), 1},
	{"blendshapes, hidden", pointwise(Image{1, 64, 384}, 97, None), 1},
	{"52", pointwise(Image{1, 1, 64}, 52, Logistic), 3},
	{"more than shared memory holds", full(Image{5, 5, 256}, 40, 3, 1, around, Relu6), 2},
	{"more depthwise than it holds", unit(Image{3, 3, 1536}, 1, 16, Relu6, NoResidual, 0), 1},
	{"one value", pointwise(Image{1, 1, 1}, 1, None), 1},
}

func randomConv(r *rand.Rand) Conv {
	channels := []int{1, 2, 3, 4, 6, 8, 10, 16, 20, 24, 28, 40, 42, 52, 64, 72}
	pick := func() int { return channels[r.IntN(len(channels))] }
	w := window{in: Image{1 + r.IntN(14), 1 + r.IntN(14), pick()}}
	for i := range 2 {
		w.kernel[i], w.stride[i] = 1+r.IntN(min(4, []int{w.in.H, w.in.W}[i])), 1+r.IntN(3)
	}
	if r.IntN(2) == 0 && min(w.in.H, w.in.W) > 2 {
		w.kernel = three
	}
	for i := range 4 {
		w.pads[i] = r.IntN(3) * r.IntN(2)
	}
	c := Conv{In: w.in, Out: w.made(pick()), Kernel: w.kernel, Stride: w.stride, Pads: w.pads, Act: Activation(r.IntN(5)), OutFloat: r.IntN(3) == 0}
	if r.IntN(2) == 0 {
		c.Front = &Depthwise{In: w.in, Kernel: w.kernel, Stride: w.stride, Pads: w.pads, Act: Activation(r.IntN(5))}
		c.Kernel, c.Stride, c.Pads = one, one, [4]int{}
	}
	if c.Residual = Residual(r.IntN(3)); c.Residual != NoResidual {
		c.ResidualC = min(c.Out.C, pick())
	}
	if r.IntN(3) == 0 {
		c.OutItem = c.Out.Len() + r.IntN(20)
	}
	return c
}
