package lsl

import "strconv"

const patternStamp = 123456.789

// appendPatterns writes the two samples by which a reader checks, bit for bit, that it decodes the stream rightly.
func appendPatterns(b []byte, format Format, channels int) []byte {
	for _, offset := range [2]int{4, 2} {
		b = appendPattern(appendStamp(b, patternStamp), format, channels, offset)
	}
	return b
}

func appendPattern(b []byte, format Format, channels, offset int) []byte {
	for k := range channels {
		m := k + offset
		sign := 1 - 2*(k%2)
		switch format {
		case Float32:
			b = appendFloat32(b, []float32{float32(sign) * float32(m)})
		case Double:
			b = appendDouble(b, []float64{float64(sign) * float64(m+16777217)})
		case Int64:
			b = appendInt64(b, []int64{int64(sign) * int64(m+2147483649)})
		case Int32:
			b = appendInt32(b, []int32{int32(sign * ((m + 65537) % 2147483647))})
		case Int16:
			b = appendInt16(b, []int16{int16(sign * ((m + 257) % 32767))})
		case Int8:
			b = appendInt8(b, []int8{int8(sign * ((m + 1) % 127))})
		case String:
			b = appendString(b, []string{strconv.Itoa(sign * (k + 10))})
		}
	}
	return b
}
