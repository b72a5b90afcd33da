package source

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// y4mHeader is the stream header of a YUV4MPEG2 file.
type y4mHeader struct {
	width, height int
	fps           float64
	chroma        y4mChroma
	fullRange     bool // XCOLORRANGE=FULL: samples use 0…255
}

// y4mChroma is how many chroma samples there are: one for every subX×subY pixels, none for mono.
type y4mChroma struct{ subX, subY int }

const (
	y4mMagic     = "YUV4MPEG2"
	y4mMaxHeader = 1024 // bytes of a header line; real ones have less than 100
)

// parseY4MHeader reads the stream header line, without its newline.
func parseY4MHeader(line string) (y4mHeader, error) {
	fields := strings.Split(line, " ")
	if fields[0] != y4mMagic {
		return y4mHeader{}, fmt.Errorf("it does not start with %q", y4mMagic)
	}
	h := y4mHeader{chroma: y4mChroma{2, 2}}
	for _, f := range fields[1:] {
		if f == "" {
			continue
		}
		if err := h.set(f[0], f[1:]); err != nil {
			return h, fmt.Errorf("header field %q: %w", f, err)
		}
	}
	if h.width == 0 || h.height == 0 {
		return h, errors.New("the header names no width (W) and height (H)")
	}
	return h, nil
}

func (h *y4mHeader) set(key byte, value string) (err error) {
	switch key {
	case 'W':
		h.width, err = y4mNumber(value)
	case 'H':
		h.height, err = y4mNumber(value)
	case 'F':
		h.fps, err = y4mRate(value)
	case 'C':
		h.chroma, err = y4mChromaOf(value)
	case 'X':
		h.fullRange = h.fullRange || value == "COLORRANGE=FULL"
	}
	return err
}

func y4mNumber(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 {
		return 0, errors.New("want a number from 1 to 65535")
	}
	return int(n), nil
}

// y4mRate reads "30000:1001"; "0:0" means unknown.
func y4mRate(s string) (float64, error) {
	a, b, ok := strings.Cut(s, ":")
	num, err1 := strconv.ParseUint(a, 10, 31)
	den, err2 := strconv.ParseUint(b, 10, 31)
	if !ok || err1 != nil || err2 != nil {
		return 0, errors.New("want a fraction such as 30:1")
	}
	if num == 0 || den == 0 {
		return 0, nil
	}
	return float64(num) / float64(den), nil
}

func y4mChromaOf(s string) (y4mChroma, error) {
	switch s {
	case "420", "420jpeg", "420mpeg2", "420paldv":
		return y4mChroma{2, 2}, nil
	case "422":
		return y4mChroma{2, 1}, nil
	case "444":
		return y4mChroma{1, 1}, nil
	case "mono":
		return y4mChroma{}, nil
	}
	return y4mChroma{}, fmt.Errorf("%w: use 8-bit 420, 422, 444 or mono", ErrUnsupported)
}

// planes returns the bytes of the luma plane and of each chroma plane.
func (h y4mHeader) planes() (luma, chroma int) {
	luma = h.width * h.height
	if c := h.chroma; c.subX > 0 {
		chroma = ((h.width + c.subX - 1) / c.subX) * ((h.height + c.subY - 1) / c.subY)
	}
	return luma, chroma
}

// frameBytes returns the payload of one frame.
func (h y4mHeader) frameBytes() int {
	luma, chroma := h.planes()
	return luma + 2*chroma
}

// format returns the pixel format that keeps the samples: 4:2:0 and mono become NV12, 4:2:2 becomes YUYV,
// both without conversion; 4:4:4 and odd sizes become BGR.
func (h y4mHeader) format() string {
	evenX, evenY := h.width%2 == 0, h.height%2 == 0
	switch {
	case h.chroma == y4mChroma{2, 1} && evenX:
		return YUYV
	case (h.chroma == y4mChroma{2, 2} || h.chroma == y4mChroma{}) && evenX && evenY:
		return NV12
	}
	return BGR
}
