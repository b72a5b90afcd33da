package nn

import (
	"errors"
	"fmt"
	"math"
)

// window is a kernel that slides over an image.
type window struct {
	in             Image
	kernel, stride [2]int
	pads           [4]int
}

func (d Depthwise) window() window { return window{d.In, d.Kernel, d.Stride, d.Pads} }

const (
	mostSide     = 1 << 15 // of an image, a kernel, a stride, a padding: the kernels pack two in a word
	mostIndex    = math.MaxUint32
	mostChannels = 1 << 20
)

func shapeError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrShape, fmt.Sprintf(format, args...))
}

// check says whether an image of out's height and width comes of the window.
func (w window) check(out Image) error {
	for _, side := range [...]int{w.in.H, w.in.W, w.kernel[0], w.kernel[1], w.stride[0], w.stride[1], out.H, out.W} {
		if side < 1 || side >= mostSide {
			return shapeError("windows of %v, stride %v over %v make %v", w.kernel, w.stride, w.in, out)
		}
	}
	for _, p := range w.pads {
		if p < 0 || p >= mostSide {
			return shapeError("padding %v", w.pads)
		}
	}
	if w.in.C < 1 || out.C < 1 || max(w.in.C, out.C) > mostChannels {
		return shapeError("channels of %v and %v", w.in, out)
	}
	h := (w.in.H+w.pads[0]+w.pads[2]-w.kernel[0])/w.stride[0] + 1
	wide := (w.in.W+w.pads[1]+w.pads[3]-w.kernel[1])/w.stride[1] + 1
	if w.in.H+w.pads[0]+w.pads[2] < w.kernel[0] || w.in.W+w.pads[1]+w.pads[3] < w.kernel[1] || h != out.H || wide != out.W {
		return shapeError("windows of %v, stride %v, padding %v over %v do not make %v", w.kernel, w.stride, w.pads, w.in, out)
	}
	return nil
}

// fits says whether the kernels, which count elements in 32 bits, reach all of a batch.
func fits(batch int, items ...int) error {
	if batch < 1 {
		return shapeError("a batch of %d", batch)
	}
	for _, n := range items {
		if n < 1 || batch > mostIndex/n {
			return shapeError("a batch of %d items of %d elements", batch, n)
		}
	}
	return nil
}

// pair packs two numbers below 65536 in a word.
func pair(high, low int) uint32 { return uint32(high)<<16 | uint32(low) }

// ErrAlign is the error of an address that a kernel cannot take.
var ErrAlign = errors.New("nn: an address is no multiple of its element's size, or that of constants none of 16")

// wide is the number of elements that accesses to an image of c channels may take at once, from the widths offered; widest first.
// Each access is aligned to its own size, up to 16 bytes.
func wide(c, bytes int, address uint64, widths ...int) int {
	for _, w := range widths {
		if c%w == 0 && address%uint64(min(w*bytes, 16)) == 0 {
			return w
		}
	}
	return 1
}
