package nn

import "facetrack/internal/cuda"

// Residual says what is added to a convolution before its activation.
type Residual uint8

// The residuals. Channels that Conv.Out has beyond ResidualC get nothing added.
const (
	NoResidual     Residual = iota
	SameResidual            // an image of Out's height and width
	PooledResidual          // the maxima over 2×2 of an image of twice Out's height and width
)

// Conv is a convolution over all channels: Y = act(front(X) * W + bias + residual).
type Conv struct {
	In, Out        Image
	Kernel, Stride [2]int
	Pads           [4]int     // top, left, bottom, right
	Front          *Depthwise // computed in front of a 1×1 convolution with stride 1; its In is Conv.In then
	Residual       Residual
	ResidualC      int
	Act            Activation
	OutFloat       bool // Y is float32 in either precision
	OutItem        int  // elements from one item of Y to the next; 0: dense
}

// ConvAt is the addresses of a launch. Residual may be Y when it is a SameResidual of Y's shape and type.
type ConvAt struct{ X, Residual, Y, Constants uint64 }

// Conv queues one convolution. At.Constants is the address, a multiple of 16, of what PackConv made.
func (s *Set) Conv(stream *cuda.Stream, p Precision, c Conv, at ConvAt, batch int) error {
	if err := c.check(batch); err != nil {
		return err
	}
	if err := c.aligned(p, at); err != nil {
		return err
	}
	name, width, whole := c.kernel(p, at.X)
	l, t := c.layout(p), c.tiling(p, batch, whole)
	w, front, frontAct, pixels := c.reads(), 0, None, 1
	if c.Front != nil {
		front, frontAct = l.front, c.Front.Act
	}
	if t.m == smallTile && smallKernels[name] {
		name += "_small"
	} else if whole > 0 {
		pixels = 2
	}
	return s.launch(stream, name, cuda.Dim{X: t.tiles, Y: t.splits}, cuda.Dim{X: t.threads(width, pixels)}, t.shared,
		at.X, at.Residual, at.Y, at.Constants, uint32(l.bias), uint32(l.slope), uint32(front), uint32(batch*c.Out.H*c.Out.W),
		uint32(c.In.H), uint32(c.In.W), uint32(c.In.C), pair(w.kernel[0], w.kernel[1]), uint32(c.Out.H), uint32(c.Out.W), uint32(c.Out.C),
		pair(w.stride[0], w.stride[1]), pair(w.pads[0], w.pads[1]), uint32(c.k()), uint32(t.chunk), uint32(t.m), pair(t.w, t.h), uint32(t.groups),
		uint32(frontAct)<<8|uint32(c.Act), uint32(c.Residual), uint32(c.ResidualC), c.widths(p, at), uint32(c.outItem()))
}

// smallKernels are those of which there is one for small tiles alone.
var smallKernels = map[string]bool{"conv_gather_f16_8": true, "conv_gather_f16_1": true, "conv_front3_f16_8": true}

// The vectors of X that the kernels have; each also takes single values.
var (
	gatherVectors = [...][]int{F32: {4}, F16: {8}}
	frontVectors  = [...][]int{F32: {4, 2}, F16: {8, 4, 2}} // for kernels of 3×3
)

// kernel is the name of the kernel for X at an address, how many of X's values it reads at once, and the bytes that it needs in shared memory
// for a front that it computes for all channels at once, or else 0.
func (c Conv) kernel(p Precision, x uint64) (name string, width, whole int) {
	if c.Front == nil {
		width = wide(c.In.C, p.Bytes(), x, gatherVectors[p]...)
		return kernelName("conv_gather", p, width), width, 0
	}
	width, whole = wide(c.In.C, p.Bytes(), x, frontVectors[p]...), c.Front.constants()
	if c.Front.Kernel == [2]int{3, 3} && width > 1 && sharedBytes(p, 16, c.k())+whole <= mostShared {
		return kernelName("conv_front3", p, width), width, whole
	}
	return kernelName("conv_front", p, 1), 1, 0
}

// widths packs what the kernel's end needs: the type of Y, the width of accesses to the residual and to Y.
func (c Conv) widths(p Precision, at ConvAt) uint32 {
	bytes, asFloat := p.Bytes(), uint32(0)
	if c.OutFloat {
		bytes, asFloat = 4, 1
	}
	y := wide(c.Out.C, bytes, at.Y, 8, 2)
	for c.outItem()%y != 0 {
		y /= 2
	}
	if y == 4 { // of which there is none
		y = 2
	}
	residual := 1
	if c.Residual != NoResidual {
		residual = wide(c.ResidualC, p.Bytes(), at.Residual, 8, 2)
	}
	return asFloat<<16 | uint32(residual)<<8 | uint32(y)
}

// reads is the window over X: the front's or the convolution's own.
func (c Conv) reads() window {
	if c.Front != nil {
		return c.Front.window()
	}
	return window{c.In, c.Kernel, c.Stride, c.Pads}
}

// k is the number of values that are summed up for a result.
func (c Conv) k() int { return c.Kernel[0] * c.Kernel[1] * c.In.C }

func (c Conv) outItem() int {
	if c.OutItem != 0 {
		return c.OutItem
	}
	return c.Out.Len()
}
