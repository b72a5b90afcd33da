package modelbuild

import "math"

// halfBits rounds to the nearest float16, ties to even; what is too large becomes infinite.
func halfBits(v float32) uint16 {
	bits := math.Float32bits(v)
	sign := uint16(bits >> 16 & 0x8000)
	a := math.Abs(float64(v))
	switch {
	case a != a:
		return sign | 0x7e00
	case a >= 65520:
		return sign | 0x7c00
	case a < 1.0/(1<<14): // subnormal: multiples of 2^-24
		return sign | uint16(math.RoundToEven(a*(1<<24)))
	}
	frac, exp := math.Frexp(a) // a = frac × 2^exp, frac in [0.5, 1)
	m := math.RoundToEven(frac * 2048)
	return sign | uint16(int(m)-1024+(exp+14)<<10)
}

func halfFloat(h uint16) float32 {
	exp, frac := int(h>>10&31), float64(h&1023)
	v := math.Ldexp(frac, -24)
	switch {
	case exp == 31 && frac == 0:
		v = math.Inf(1)
	case exp == 31:
		v = math.NaN()
	case exp > 0:
		v = math.Ldexp(1024+frac, exp-25)
	}
	if h&0x8000 != 0 {
		v = -v
	}
	return float32(v)
}

// HalfValue rounds v to what float16 can hold.
func HalfValue(v float32) float32 { return halfFloat(halfBits(v)) }
