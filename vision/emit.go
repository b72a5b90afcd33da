package vision

// Normalization turns 8-bit channels into a network's input: value·Scale + Bias, in NHWC order.
type Normalization struct {
	Scale, Bias float32
	Blue        bool // blue first (BGR), else red first (RGB)
}

// The networks' inputs.
var (
	BGR255    = Normalization{Scale: 1, Blue: true}       // YuNet: 0..255
	RGBSigned = Normalization{Scale: 2.0 / 255, Bias: -1} // BlazeFace: −1..1
	RGBUnit   = Normalization{Scale: 1.0 / 255}           // face points: 0..1
)

// BT.601 limited range to full-range RGB.
const (
	lumaGain  = 255.0 / 219
	redCr     = 1.402 * 255 / 224
	greenCb   = -0.344136 * 255 / 224
	greenCr   = -0.714136 * 255 / 224
	blueCb    = 1.772 * 255 / 224
	lumaZero  = 16 * one
	chromaMid = 128 * one
)

// emitter writes sampled rows as floats; yuv tells what the channels are.
type emitter struct {
	norm Normalization
	yuv  bool
}

// emit converts as many values as src has, 3 a pixel.
func (e emitter) emit(dst []float32, src []int32) {
	switch {
	case e.yuv:
		e.norm.yuv(dst, src)
	case e.norm.Blue:
		e.norm.inOrder(dst, src)
	default:
		e.norm.reversed(dst, src)
	}
}

func (n Normalization) inOrder(dst []float32, src []int32) {
	scale, bias := n.Scale/one, n.Bias
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = float32(v)*scale + bias
	}
}

func (n Normalization) reversed(dst []float32, src []int32) {
	scale, bias := n.Scale/one, n.Bias
	dst = dst[:len(src)]
	for i := 0; i <= len(src)-3; i += 3 {
		s, d := (*[3]int32)(src[i:]), (*[3]float32)(dst[i:])
		d[0] = float32(s[2])*scale + bias
		d[1] = float32(s[1])*scale + bias
		d[2] = float32(s[0])*scale + bias
	}
}

// Factors are what a Normalization makes of sampled values, which are 8-bit values times 65536: those of BGR
// frames become value·Scale + Bias; those of YUV frames, less black or the chroma's middle, are multiplied by
// the other factors and kept between Low and High. First and Last are the chroma factors of the first and the
// last channel.
type Factors struct {
	Scale, Bias, Low, High float32
	Luma, First, Last      float32
	GreenCb, GreenCr       float32
}

// Factors are for those who compute the same elsewhere.
func (n Normalization) Factors() Factors {
	scale, bias := n.Scale/one, n.Bias
	f := Factors{Scale: scale, Bias: bias, Low: bias, High: 255*n.Scale + bias,
		Luma: lumaGain * scale, First: redCr * scale, Last: blueCb * scale, GreenCb: greenCb * scale, GreenCr: greenCr * scale}
	if n.Blue {
		f.First, f.Last = f.Last, f.First
	}
	return f
}

func (n Normalization) yuv(dst []float32, src []int32) {
	f := n.Factors()
	bias, low, high := f.Bias, f.Low, f.High
	ky, kfirst, klast, kgr, kgb := f.Luma, f.First, f.Last, f.GreenCr, f.GreenCb
	dst = dst[:len(src)]
	for i := 0; i <= len(src)-3; i += 3 {
		s, d := (*[3]int32)(src[i:]), (*[3]float32)(dst[i:])
		y := float32(s[0]-lumaZero)*ky + bias
		cb, cr := float32(s[1]-chromaMid), float32(s[2]-chromaMid)
		d[1] = clampFloat(y+kgb*cb+kgr*cr, low, high)
		if n.Blue { // the first value is blue, made from Cb
			cb, cr = cr, cb
		}
		d[0] = clampFloat(y+kfirst*cr, low, high)
		d[2] = clampFloat(y+klast*cb, low, high)
	}
}

func clampFloat(x, low, high float32) float32 {
	if x < low {
		return low
	}
	if x > high {
		return high
	}
	return x
}
