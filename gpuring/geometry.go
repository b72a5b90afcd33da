package gpuring

import "fmt"

// Format names a pixel layout; rows are tight in each.
type Format string

// The pixel formats of a ring, as cameras deliver them.
const (
	BGR  Format = "BGR"  // 8-bit blue, green, red interleaved; a row has 3*Width bytes
	NV12 Format = "NV12" // a Y plane with rows of Width bytes, then interleaved U and V at half resolution; even sizes
	YUYV Format = "YUYV" // Y0 U Y1 V interleaved; a row has 2*Width bytes; even width
)

// MaxSlots is the largest number of slots of a ring.
const MaxSlots = 256

const maxSide = 16384 // pixels

// Geometry is the shape of every frame of a ring, and how many frames it holds.
type Geometry struct {
	Width  int    `json:"width"`  // pixels, 1 to 16384
	Height int    `json:"height"` // pixels, 1 to 16384
	Format Format `json:"format"`
	Slots  int    `json:"slots"` // 2 to MaxSlots
}

// FrameBytes returns the size of one frame in bytes, 0 for an unknown format.
func (g Geometry) FrameBytes() int {
	switch pixels := g.Width * g.Height; g.Format {
	case BGR:
		return 3 * pixels
	case NV12:
		return pixels + pixels/2
	case YUYV:
		return 2 * pixels
	}
	return 0
}

func (g Geometry) validate() error {
	evenWidth := g.Format == NV12 || g.Format == YUYV
	switch {
	case g.Width < 1 || g.Width > maxSide || g.Height < 1 || g.Height > maxSide:
		return fmt.Errorf("%w: frame size %d×%d: each side must be 1 to %d pixels", ErrOptions, g.Width, g.Height, maxSide)
	case g.Slots < 2 || g.Slots > MaxSlots:
		return fmt.Errorf("%w: %d slots: a ring has 2 to %d", ErrOptions, g.Slots, MaxSlots)
	case g.FrameBytes() == 0:
		return fmt.Errorf("%w: pixel format %q: use BGR, NV12 or YUYV", ErrOptions, g.Format)
	case evenWidth && g.Width%2 != 0, g.Format == NV12 && g.Height%2 != 0:
		return fmt.Errorf("%w: %s needs even sides, not %d×%d: crop by one pixel", ErrOptions, g.Format, g.Width, g.Height)
	}
	return nil
}
