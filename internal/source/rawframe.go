package source

import (
	"bytes"
	"fmt"
	"image/jpeg"
)

// rawFrame is a camera's buffer as the driver left it: pixels in a format of ours, or a JPEG picture.
type rawFrame struct {
	pix                     []byte
	rows, columns, channels int
}

// isJPEG reports whether the buffer is one row of bytes that starts like a JPEG picture.
func (r rawFrame) isJPEG() bool {
	return r.rows == 1 && r.channels == 1 && bytes.HasPrefix(r.pix, []byte{0xFF, 0xD8})
}

// geometry works out size and format. height is what the driver announced: NV12 and grey buffers look alike.
func (r rawFrame) geometry(height int) (w, h int, format string, err error) {
	switch {
	case r.isJPEG():
		if bytes.LastIndex(r.pix, []byte{0xFF, 0xD9}) < 0 {
			return 0, 0, "", fmt.Errorf("%w: a JPEG picture of %d bytes has no end", ErrCorrupt, len(r.pix))
		}
		c, err := jpeg.DecodeConfig(bytes.NewReader(r.pix))
		if err != nil {
			return 0, 0, "", fmt.Errorf("%w: JPEG picture: %w", ErrCorrupt, err)
		}
		return c.Width, c.Height, BGR, nil
	case r.channels == 3:
		return r.columns, r.rows, BGR, nil
	case r.channels == 2:
		return r.columns, r.rows, YUYV, nil
	case r.channels == 1 && height > 0 && 2*r.rows == 3*height:
		return r.columns, height, NV12, nil
	}
	return 0, 0, "", fmt.Errorf("%w: a buffer of %d×%d with %d channels", ErrUnsupported, r.columns, r.rows, r.channels)
}

// maxStampAge bounds how old a driver's stamp may be: older ones, and ones from the future, are of another clock.
const maxStampAge = int64(2e9)

// captureInstant takes the driver's stamp, in milliseconds of CLOCK_MONOTONIC, when it can be true, else now.
func captureInstant(stampMS float64, now int64) int64 {
	ns := int64(stampMS * 1e6)
	if ns > now || now-ns > maxStampAge {
		return now
	}
	return ns
}
