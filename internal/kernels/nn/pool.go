package nn

import "facetrack/internal/cuda"

// MaxPool queues Y = act(maxima over windows of X); padding never wins. There is no slope: PRelu is an error.
func (s *Set) MaxPool(stream *cuda.Stream, p Precision, in, out Image, kernel, stride [2]int, pads [4]int, act Activation, x, y uint64, batch int) error {
	if err := (window{in, kernel, stride, pads}).check(out); err != nil {
		return err
	}
	if out.C != in.C || act == PRelu || act > Logistic {
		return shapeError("activation %d, %v from %v", act, out, in)
	}
	if max(pads[0], pads[2]) >= kernel[0] || max(pads[1], pads[3]) >= kernel[1] {
		return shapeError("windows of %v that hold nothing but padding %v", kernel, pads)
	}
	if err := fits(batch, in.Len(), out.Len()); err != nil {
		return err
	}
	if x%uint64(p.Bytes()) != 0 || y%uint64(p.Bytes()) != 0 {
		return ErrAlign
	}
	width := wide(in.C, p.Bytes(), x|y, vectors[p]...)
	items := batch * out.H * out.W * (in.C / width)
	return s.launch(stream, kernelName("max_pool", p, width), blocks(items), cuda.Dim{X: itemThreads}, 0,
		x, y, uint32(items), uint32(in.H), uint32(in.W), uint32(in.C), pair(kernel[0], kernel[1]), uint32(out.H), uint32(out.W),
		pair(stride[0], stride[1]), pair(pads[0], pads[1]), uint32(act))
}
