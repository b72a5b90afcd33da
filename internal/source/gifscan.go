package source

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// gifFrame is where one picture of a GIF lies in the file, and how it joins the ones before it.
type gifFrame struct {
	start, end int  // graphic control extension, if any, and image block: a GIF of its own behind the file's header
	delay      int  // hundredths of a second
	disposal   byte // what happens to its rectangle before the next frame
}

// GIF disposal methods.
const (
	disposeBackground = 2
	disposePrevious   = 3
)

// gifLayout is the result of a scan: no pixel is decoded for it.
type gifLayout struct {
	width, height int
	header        int // bytes of the signature, the screen descriptor and the global palette
	frames        []gifFrame
	damage        error // why the scan stopped early, nil for a complete file
}

var errGIFShort = errors.New("the file ends too early")

// scanGIF finds the frames. An error means that not even the header is right; damage further on keeps the
// frames before it.
func scanGIF(data []byte) (*gifLayout, error) {
	if len(data) < 13 || string(data[:4]) != "GIF8" {
		return nil, errors.New("it does not start with a GIF header")
	}
	l := &gifLayout{
		width:  int(binary.LittleEndian.Uint16(data[6:])),
		height: int(binary.LittleEndian.Uint16(data[8:])),
		header: 13 + paletteBytes(data[10]),
	}
	if l.header > len(data) {
		return nil, errGIFShort
	}
	l.damage = l.scan(data)
	return l, nil
}

func paletteBytes(flags byte) int {
	if flags&0x80 == 0 {
		return 0
	}
	return 3 << (flags&7 + 1)
}

func (l *gifLayout) scan(data []byte) error {
	pos := l.header
	next := gifFrame{start: -1}
	for pos < len(data) {
		var end int
		switch data[pos] {
		case 0x3B:
			return nil
		case 0x21:
			end = gifBlocks(data, pos+2)
			if end > 0 && data[pos+1] == 0xF9 && end-pos >= 7 {
				next = gifFrame{start: pos, disposal: data[pos+3] >> 2 & 7, delay: int(binary.LittleEndian.Uint16(data[pos+4:]))}
			}
		case 0x2C:
			if end = gifImageEnd(data, pos); end > 0 {
				if next.start < 0 {
					next.start = pos
				}
				next.end = end
				l.frames = append(l.frames, next)
				next = gifFrame{start: -1}
			}
		default:
			return fmt.Errorf("unknown block 0x%02x at byte %d, after %d frames", data[pos], pos, len(l.frames))
		}
		if end <= 0 {
			return fmt.Errorf("%w: at byte %d, inside the block after frame %d", errGIFShort, len(data), len(l.frames))
		}
		pos = end
	}
	return fmt.Errorf("%w: at byte %d, without an end mark after %d frames", errGIFShort, len(data), len(l.frames))
}

// gifImageEnd returns the first byte behind the image block at pos, or -1 when the file ends inside.
func gifImageEnd(data []byte, pos int) int {
	if pos+10 > len(data) {
		return -1
	}
	return gifBlocks(data, pos+10+paletteBytes(data[pos+9])+1)
}

// gifBlocks walks length-prefixed blocks to behind the empty one, or returns -1.
func gifBlocks(data []byte, pos int) int {
	for pos < len(data) {
		n := int(data[pos])
		pos += 1 + n
		if n == 0 {
			return pos
		}
	}
	return -1
}
