package lsl

import (
	"encoding/binary"
	"math"
)

// tagStamp precedes a sample whose float64 timestamp is sent; this outlet never lets the reader deduce one.
const tagStamp = 2

// Numbers travel in two's complement or IEEE 754; readers convert the byte order.
var little = binary.LittleEndian

func appendStamp(b []byte, ts float64) []byte {
	return little.AppendUint64(append(b, tagStamp), math.Float64bits(ts))
}

func appendFloat32(b []byte, values []float32) []byte {
	for _, v := range values {
		b = little.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func appendDouble(b []byte, values []float64) []byte {
	for _, v := range values {
		b = little.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

func appendInt64(b []byte, values []int64) []byte {
	for _, v := range values {
		b = little.AppendUint64(b, uint64(v))
	}
	return b
}

func appendInt32(b []byte, values []int32) []byte {
	for _, v := range values {
		b = little.AppendUint32(b, uint32(v))
	}
	return b
}

func appendInt16(b []byte, values []int16) []byte {
	for _, v := range values {
		b = little.AppendUint16(b, uint16(v))
	}
	return b
}

func appendInt8(b []byte, values []int8) []byte {
	for _, v := range values {
		b = append(b, byte(v))
	}
	return b
}

// appendString writes each text behind the width of its length (1 or 4 bytes) and the length.
func appendString(b []byte, values []string) []byte {
	for _, v := range values {
		if len(v) <= math.MaxUint8 {
			b = append(b, 1, byte(len(v)))
		} else {
			b = append(b, 4)
			b = little.AppendUint32(b, uint32(len(v)))
		}
		b = append(b, v...)
	}
	return b
}
