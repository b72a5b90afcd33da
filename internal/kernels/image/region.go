package image

import (
	"encoding/binary"
	"fmt"
	"math"

	"facetrack/vision"
)

// Frame is a camera's frame in device memory, with tight rows.
type Frame struct {
	Address       uint64 // a multiple of 4
	Format        vision.Format
	Width, Height int
}

// numbers of the formats in sample.cuh
var numbers = map[vision.Format]uint32{vision.BGR: 0, vision.NV12: 1, vision.YUYV: 2}

func (f Frame) check() error {
	if f.Address == 0 || f.Address%4 != 0 {
		return fmt.Errorf("%w: a frame at the address %#x, which must be a multiple of 4", ErrLaunch, f.Address)
	}
	_, err := vision.FrameBytes(f.Format, f.Width, f.Height)
	return err
}

func (f Frame) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, f.Address)
	return words(dst, numbers[f.Format], uint32(f.Width), uint32(f.Height), 0)
}

func words(dst []byte, values ...uint32) []byte {
	for _, v := range values {
		dst = binary.LittleEndian.AppendUint32(dst, v)
	}
	return dst
}

func doubles(dst []byte, values ...float64) []byte {
	for _, v := range values {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
	}
	return dst
}

// RegionBytes is the size of a region in device memory; an array of them begins at a multiple of 8. At RegionPlace of each lie its
// centre, its side, and the sine and cosine of its rotation, five float64 that package faces reads.
const (
	RegionBytes = 104
	RegionPlace = 64
)

// AppendRegion adds a region of a frame, for inputs of size × size pixels. Errors wrap vision.ErrROI or vision.ErrImage, or ErrLaunch.
func AppendRegion(dst []byte, f Frame, r vision.ROI, size int) ([]byte, error) {
	if err := f.check(); err != nil {
		return dst, err
	}
	if err := r.Validate(); err != nil {
		return dst, err
	}
	if size < 1 || size > maxSize {
		return dst, fmt.Errorf("%w: regions of %d pixels", ErrLaunch, size)
	}
	g := r.SampleGrid(size)
	twice := uint32(0)
	if g.Double {
		twice = 1
	}
	dst = doubles(f.append(dst), g.X, g.Y, g.DX, g.DY)
	sin, cos := math.Sincos(r.Rotation)
	return doubles(words(dst, twice, 0), r.CX, r.CY, r.Size, sin, cos), nil
}
