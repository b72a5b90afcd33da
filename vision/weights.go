package vision

// Sampled rows hold three channels a pixel, each an 8-bit value times weights that add up to one:
// blue, green, red from BGR frames, Y, Cb, Cr from the YUV formats. They fit the 24-bit mantissa of float32.
const one = 1 << 16

// Two neighbouring values a, b of one channel lie 24 bits apart in a word. Times a word with their weights
// wa in bits 40.. and wb in bits 16.., the top 24 bits are a·wa + b·wb: one multiplication for two taps.
// What lies below, a·wb, stays under bit 40 when the weights add up to no more than one; b·wa overflows.
const (
	tapPair  = 0xff | 0xff<<24
	tapFirst = 40
	tapNext  = 16
)

func tapWeights(a, b uint64) uint64 { return a<<tapFirst | b<<tapNext }

// tapSum extracts the weighted sum of one or more products.
func tapSum(products uint64) int32 { return int32(products >> tapFirst) }

// fraction is the position within a pixel in 1/256.
func fraction(p int64) uint64 { return uint64(p) >> 24 & 0xff }

// bilinearPairs returns the weights of the upper and the lower two taps as tapWeights.
func bilinearPairs(u, v int64) (top, low uint64) {
	row := 256<<tapFirst - fraction(u)*(1<<tapFirst-1<<tapNext)
	low = row * fraction(v)
	return row<<8 - low, low
}

// bilinear returns the four weights.
func bilinear(u, v int64) (w00, w01, w10, w11 uint64) {
	fx, fy := fraction(u), fraction(v)
	w11 = fx * fy
	w01 = fx<<8 - w11
	w10 = fy<<8 - w11
	return one - w01 - w10 - w11, w01, w10, w11
}
