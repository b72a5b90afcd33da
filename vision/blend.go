package vision

import "encoding/binary"

// rowTotal is what the vertical weights of one output row add up to: with 8-bit pixels a sum fills 16 bits.
const rowTotal = 256

const (
	evenBytes = 0x00ff00ff00ff00ff
	halves    = 0x0080008000800080 // one half of rowTotal in each 16-bit lane, for rounding
)

// blendRows writes into dst the weighted mean of as many rows of dst's length as there are weights, the
// first at byte at of pix: 16 bytes at a time, in 16-bit lanes.
func blendRows(dst, pix []byte, at int, weights []uint64) {
	n := len(dst)
	if len(weights) == 2 && weights[0] == weights[1] {
		meanRows(dst, pix[at:at+n], pix[at+n:at+2*n])
		return
	}
	i := 0
	for ; i+16 <= n; i += 16 {
		e0, o0, e1, o1 := uint64(halves), uint64(halves), uint64(halves), uint64(halves)
		o := at + i
		for _, w := range weights {
			p := (*[16]byte)(pix[o:])
			x, y := binary.LittleEndian.Uint64(p[:8]), binary.LittleEndian.Uint64(p[8:])
			e0 += x & evenBytes * w
			o0 += x >> 8 & evenBytes * w
			e1 += y & evenBytes * w
			o1 += y >> 8 & evenBytes * w
			o += n
		}
		d := (*[16]byte)(dst[i:])
		binary.LittleEndian.PutUint64(d[:8], e0>>8&evenBytes|o0&^evenBytes)
		binary.LittleEndian.PutUint64(d[8:], e1>>8&evenBytes|o1&^evenBytes)
	}
	for ; i < n; i++ {
		sum := uint64(rowTotal / 2)
		for k, w := range weights {
			sum += uint64(pix[at+k*n+i]) * w
		}
		dst[i] = byte(sum >> 8)
	}
}

// meanRows is blendRows for two rows of equal weight, rounding half up: in each byte a+b+1 over 2 is
// (a|b) − (a^b)/2.
func meanRows(dst, a, b []byte) {
	const high = 0xfefefefefefefefe
	n := len(dst)
	a, b = a[:n], b[:n]
	i := 0
	for ; i+32 <= n; i += 32 {
		p, q, d := (*[32]byte)(a[i:]), (*[32]byte)(b[i:]), (*[32]byte)(dst[i:])
		for k := 0; k < 32; k += 8 {
			x, y := binary.LittleEndian.Uint64(p[k:]), binary.LittleEndian.Uint64(q[k:])
			binary.LittleEndian.PutUint64(d[k:], x|y-(x^y)&high>>1)
		}
	}
	for ; i < n; i++ {
		dst[i] = byte((int(a[i]) + int(b[i]) + 1) >> 1)
	}
}
