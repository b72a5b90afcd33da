package xdf

import (
	"encoding/binary"
	"math"
)

const magic = "XDF:"

type tag uint16

const (
	tagFileHeader tag = iota + 1
	tagStreamHeader
	tagSamples
	tagClockOffset
	tagBoundary
	tagStreamFooter
)

// boundary is the content of every boundary chunk. Readers of a damaged file search for it.
var boundary = []byte{0x43, 0xa5, 0x46, 0xdc, 0xcb, 0xf5, 0x41, 0x0f, 0xb3, 0x0e, 0xd5, 0x46, 0x73, 0x83, 0xcb, 0xe4}

var little = binary.LittleEndian

// appendLength writes n behind the number of its bytes, in as few as hold it.
func appendLength(b []byte, n uint64) []byte {
	switch {
	case n <= math.MaxUint8:
		return append(b, 1, byte(n))
	case n <= math.MaxUint32:
		return little.AppendUint32(append(b, 4), uint32(n))
	default:
		return little.AppendUint64(append(b, 8), n)
	}
}

// appendChunk writes a chunk whose content is the parts, one after the other.
func appendChunk(b []byte, t tag, parts ...[]byte) []byte {
	n := 2
	for _, p := range parts {
		n += len(p)
	}
	b = little.AppendUint16(appendLength(b, uint64(n)), uint16(t))
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}
