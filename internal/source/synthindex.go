package source

import "fmt"

// SyntheticIndex reads the frame index (modulo 2^32) from the marker strip of a synthetic frame with tight rows
// of the given format and width. ErrCorrupt when a cell is neither black nor white: not such a frame, or torn.
func SyntheticIndex(pix []byte, format string, width int) (uint32, error) {
	if width < markerBits*markerCell || len(pix) < frameBytes(format, width, markerCell) || frameBytes(format, 2, 2) == 0 {
		return 0, fmt.Errorf("%w: no room for a frame index in %d bytes of %q, %d px wide", ErrBuffer, len(pix), format, width)
	}
	var index uint32
	for bit := range markerBits {
		v := cellLuma(pix, format, width, bit)
		if v > 64 && v < 192 {
			return 0, fmt.Errorf("%w: cell %d of the frame index is grey (%d)", ErrCorrupt, bit, v)
		}
		index <<= 1
		if v >= 192 {
			index |= 1
		}
	}
	return index, nil
}

// cellLuma averages the four inner pixels of a cell, away from the blur of a codec.
func cellLuma(pix []byte, format string, width, cell int) int {
	sum := 0
	for y := 1; y <= 2; y++ {
		for x := 1; x <= 2; x++ {
			p := y*width + cell*markerCell + x
			switch format {
			case BGR:
				sum += int(pix[3*p+1])
			case YUYV:
				sum += int(pix[2*p])
			default:
				sum += int(pix[p])
			}
		}
	}
	return sum / 4
}
