package vision

import (
	"errors"
	"fmt"
)

// Format names a pixel layout with tight rows.
type Format string

// The camera formats.
const (
	BGR  Format = "BGR"  // 3 bytes a pixel: blue, green, red
	NV12 Format = "NV12" // luma plane, then a plane of interleaved Cb Cr at half width and half height
	YUYV Format = "YUYV" // 4 bytes for two pixels: Y0 Cb Y1 Cr
)

// ErrImage is wrapped by every error about an image that cannot be read.
var ErrImage = errors.New("vision: bad image")

// Image is one frame as the camera delivered it. The package only reads Pix.
type Image struct {
	Format        Format
	Width, Height int
	Pix           []byte
}

// FrameBytes is the size of a frame, or an error that wraps ErrImage when the layout is impossible.
func FrameBytes(f Format, width, height int) (int, error) {
	if width < 1 || height < 1 || width > maxSide || height > maxSide {
		return 0, fmt.Errorf("%w: %d×%d pixels; sides must be 1 to %d", ErrImage, width, height, maxSide)
	}
	switch f {
	case BGR:
		return 3 * width * height, nil
	case NV12:
		if width%2 != 0 || height%2 != 0 {
			return 0, fmt.Errorf("%w: NV12 of %d×%d pixels; both sides must be even", ErrImage, width, height)
		}
		return width * height * 3 / 2, nil
	case YUYV:
		if width%2 != 0 {
			return 0, fmt.Errorf("%w: YUYV of %d×%d pixels; the width must be even", ErrImage, width, height)
		}
		return 2 * width * height, nil
	}
	return 0, fmt.Errorf("%w: pixel format %q; use BGR, NV12 or YUYV", ErrImage, f)
}

// maxSide keeps positions within the 32 integer bits of the fixed-point samplers with room to spare.
const maxSide = 1 << 15

// Validate checks format, sides and length. Pix may be longer than the frame.
func (m Image) Validate() error {
	need, err := FrameBytes(m.Format, m.Width, m.Height)
	if err != nil {
		return err
	}
	if len(m.Pix) < need {
		return fmt.Errorf("%w: %s of %d×%d needs %d bytes and has %d", ErrImage, m.Format, m.Width, m.Height, need, len(m.Pix))
	}
	return nil
}
