// Package half converts between float32 and IEEE half precision (binary16).
package half

import (
	"encoding/binary"
	"math"
)

// Max is the largest finite value.
const Max = 65504

// FromFloat32 rounds to the nearest half, ties to even; what is too large becomes infinite.
func FromFloat32(v float32) uint16 {
	bits := math.Float32bits(v)
	sign, a := uint16(bits>>16&0x8000), bits&0x7fffffff
	switch {
	case a > 0x7f800000: // not a number
		return sign | 0x7e00
	case a >= 0x477ff000: // rounds to 65536 or above
		return sign | 0x7c00
	case a < 0x38800000: // below 2^-14: multiples of 2^-24, which the addition rounds to
		f := math.Float32frombits(a) + 0.5
		return sign | uint16(math.Float32bits(f)-0x3f000000)
	}
	a += 0xfff + a>>13&1 // half of the last place, less one unless that place is odd
	return sign | uint16(a>>13-(127-15)<<10)
}

// ToFloat32 is the value of a half, exactly.
func ToFloat32(h uint16) float32 {
	sign, a := uint32(h&0x8000)<<16, uint32(h&0x7fff)
	switch {
	case a >= 0x7c00:
		return math.Float32frombits(sign | 0x7f800000 | a<<13)
	case a < 0x400: // a multiple of 2^-24
		return math.Float32frombits(sign | math.Float32bits(float32(a)*(1.0/(1<<24))))
	}
	return math.Float32frombits(sign | a<<13 + (127-15)<<23)
}

// Round is the half nearest to v.
func Round(v float32) float32 { return ToFloat32(FromFloat32(v)) }

// Append appends values as halves, little-endian.
func Append(out []byte, values ...float32) []byte {
	for _, v := range values {
		out = binary.LittleEndian.AppendUint16(out, FromFloat32(v))
	}
	return out
}

// Read fills values from little-endian halves, two bytes each.
func Read(values []float32, halves []byte) {
	for i := range values {
		values[i] = ToFloat32(binary.LittleEndian.Uint16(halves[2*i:]))
	}
}
