package source

import "testing"

// Golden values of BT.601 limited range for full-scale colours.
func TestConversionToYUV(t *testing.T) {
	for name, c := range map[string]struct {
		b, g, r int
		want    [3]byte
	}{
		"black": {0, 0, 0, [3]byte{16, 128, 128}},
		"white": {255, 255, 255, [3]byte{235, 128, 128}},
		"red":   {0, 0, 255, [3]byte{81, 90, 240}},
		"green": {0, 255, 0, [3]byte{145, 54, 34}},
		"blue":  {255, 0, 0, [3]byte{41, 240, 110}},
	} {
		u, v := chromaOf(c.b, c.g, c.r)
		got := [3]byte{lumaOf(c.b, c.g, c.r), u, v}
		if got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestConversionIsReversible(t *testing.T) {
	for _, c := range [][3]int{{40, 40, 220}, {120, 110, 100}, {0, 0, 0}, {255, 255, 255}, {10, 200, 60}} {
		u, v := chromaOf(c[0], c[1], c[2])
		b, g, r := bgrOf(lumaOf(c[0], c[1], c[2]), u, v)
		for i, got := range [3]byte{b, g, r} {
			if d := int(got) - c[i]; d < -3 || d > 3 {
				t.Errorf("%v came back as %d %d %d", c, b, g, r)
				break
			}
		}
	}
}

func TestConvertRectTouchesOnlyTheRectangle(t *testing.T) {
	const w, h = 8, 6
	bgr := make([]byte, 3*w*h)
	for i := range bgr {
		bgr[i] = 255
	}
	for format, want := range map[string]int{BGR: 3 * 8, NV12: 8 + 4, YUYV: 16} {
		dst := make([]byte, frameBytes(format, w, h))
		convertRect(dst, bgr, format, w, h, 2, 2, 6, 4) // 4×2 pixels
		n := 0
		for _, v := range dst {
			if v != 0 {
				n++
			}
		}
		if n != want {
			t.Errorf("%s: %d bytes written, want %d", format, n, want)
		}
	}
}
