package nn

import "facetrack/internal/cuda"

// Depthwise is a convolution of each channel with its own kernel: Y = act(X * W + bias).
type Depthwise struct {
	In             Image
	Kernel, Stride [2]int
	Pads           [4]int // top, left, bottom, right
	Act            Activation
	OutFloat       bool // Y is float32 in either precision; not in front of a Conv
}

// constants is the size in bytes, without the zeros in front: weights [KH][KW][C], bias and for PRelu slope, each rounded up to 16 bytes.
func (d Depthwise) constants() int {
	n := pad4(d.Kernel[0]*d.Kernel[1]*d.In.C) + pad4(d.In.C)
	if d.Act == PRelu {
		n += pad4(d.In.C)
	}
	return 4 * n
}

func pad4(n int) int { return (n + 3) / 4 * 4 }

// PackDepthwise makes the constants of a launch of Depthwise. W is [C][KH][KW]; bias may be nil, slope is for PRelu only.
func (s *Set) PackDepthwise(_ Precision, d Depthwise, w, bias, slope []float32) ([]byte, error) {
	return d.pack(make([]byte, zeroBytes), w, bias, slope)
}

func (d Depthwise) pack(out []byte, w, bias, slope []float32) ([]byte, error) {
	taps, c := d.Kernel[0]*d.Kernel[1], d.In.C
	if taps < 1 || c < 1 {
		return nil, shapeError("windows of %v over %v", d.Kernel, d.In)
	}
	if err := counts(c, taps, d.Act, w, bias, slope); err != nil {
		return nil, err
	}
	turned := make([]float32, taps*c)
	for i, v := range w {
		turned[i%taps*c+i/taps] = v
	}
	out = appendPadded(out, turned, pad4(len(turned)))
	out = appendPadded(out, bias, pad4(c))
	if d.Act == PRelu {
		out = appendPadded(out, slope, pad4(c))
	}
	return out, nil
}

// Depthwise queues one depthwise convolution. Constants is the address, a multiple of 16, of what PackDepthwise made.
func (s *Set) Depthwise(stream *cuda.Stream, p Precision, d Depthwise, out Image, x, y, constants uint64, batch int) error {
	if err := d.check(out, batch); err != nil {
		return err
	}
	bytes, asFloat := p.Bytes(), uint32(0)
	if d.OutFloat {
		bytes, asFloat = 4, 1
	}
	if constants%16 != 0 || x%uint64(p.Bytes()) != 0 || y%uint64(bytes) != 0 {
		return ErrAlign
	}
	name, width := "depthwise", 1
	if d.Kernel == [2]int{3, 3} {
		name = "depthwise3"
		width = min(wide(d.In.C, p.Bytes(), x, vectors[p]...), wide(d.In.C, bytes, y, vectors[p]...))
	}
	items := batch * out.H * out.W * (d.In.C / width)
	return s.launch(stream, kernelName(name, p, width), blocks(items), cuda.Dim{X: itemThreads}, 0,
		x, y, constants, uint32(items), uint32(d.In.H), uint32(d.In.W), uint32(d.In.C), pair(d.Kernel[0], d.Kernel[1]), uint32(out.H), uint32(out.W),
		pair(d.Stride[0], d.Stride[1]), pair(d.Pads[0], d.Pads[1]), uint32(d.Act), asFloat)
}

// vectors are those of the kernels that take a vector of an image in each thread.
var vectors = [...][]int{F32: {4}, F16: {8, 2}}

const itemThreads = 128

func blocks(items int) cuda.Dim { return cuda.Dim{X: (items + itemThreads - 1) / itemThreads} }

func (d Depthwise) check(out Image, batch int) error {
	if err := d.window().check(out); err != nil {
		return err
	}
	if out.C != d.In.C || d.Act > Logistic {
		return shapeError("activation %d, %v from %v", d.Act, out, d.In)
	}
	return fits(batch, d.In.Len(), out.Len())
}
