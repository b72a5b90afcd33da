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

func (n Normalization) yuv(dst []float32, src []int32) {
	scale, bias := n.Scale/one, n.Bias
	low, high := bias, 255*n.Scale+bias
	ky, kfirst, klast := lumaGain*scale, redCr*scale, blueCb*scale
	kgr, kgb := greenCr*scale, greenCb*scale
	if n.Blue {
		kfirst, klast = klast, kfirst
	}
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
