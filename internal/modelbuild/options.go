package modelbuild

// Option tunes a convolution, a pooling or a binary operator.
type Option func(*attributes)

// Stride sets the stride of both axes; 1 unless given.
func Stride(s int) Option { return func(a *attributes) { a.stride = [2]int{s, s} } }

// Dilation sets the distance of kernel taps on both axes; 1 unless given.
func Dilation(d int) Option { return func(a *attributes) { a.dilation = [2]int{d, d} } }

// Same pads so that the output is ceil(input/stride) long, with an odd pad on the far side. No padding unless given.
func Same() Option { return func(a *attributes) { a.same = true } }

// Pads gives explicit zero pads. TFLite gets a PAD before the convolution, and cannot have it for a pooling.
func Pads(top, left, bottom, right int) Option {
	return func(a *attributes) { a.pads = [4]int{top, left, bottom, right} }
}

// Groups splits channels into groups; as many as input channels make the convolution depthwise.
func Groups(n int) Option { return func(a *attributes) { a.groups = n } }

// Relu fuses a ReLU behind the operator (in ONNX a node of its own).
func Relu() Option { return func(a *attributes) { a.activation = 1 } }

// Relu6 fuses a ReLU6 behind the operator; TFLite only.
func Relu6() Option { return func(a *attributes) { a.activation = 3 } }

// Masks are the bit masks of StridedSlice: axes whose Begin or End is ignored, and axes that keep one element and
// disappear.
type Masks struct{ Begin, End, Shrink int }

func apply(opts []Option) attributes {
	a := attributes{stride: [2]int{1, 1}, dilation: [2]int{1, 1}, groups: 1}
	for _, o := range opts {
		o(&a)
	}
	return a
}
