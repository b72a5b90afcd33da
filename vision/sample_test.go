package vision

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

var formats = []Format{BGR, NV12, YUYV}

// crop renders a region as RGB 0..255.
func crop(t testing.TB, m Image, r ROI, size int) []float32 {
	t.Helper()
	c, err := NewCropper(size, Normalization{Scale: 1})
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]float32, size*size*3)
	if err := c.Fill(dst, m, r); err != nil {
		t.Fatal(err)
	}
	return dst
}

func TestCropOfLinearGradientIsExact(t *testing.T) {
	// 8-bit values on a plane: bilinear interpolation reproduces the plane between the pixels.
	m := paint(BGR, 40, 40, func(x, y float64) [3]float64 {
		return [3]float64{10 + 2*(x-0.5) + 3*(y-0.5), 200 - 4*(x-0.5), 5 * (y - 0.5)}
	})
	r := ROI{CX: 20.3, CY: 19.6, Size: 22, Rotation: 0.7}
	const size = 31
	got := crop(t, m, r, size)
	for j := range size {
		for i := range size {
			x, y := r.Frame((float64(i)+0.5)/size, (float64(j)+0.5)/size)
			want := [3]float64{10 + 2*(x-0.5) + 3*(y-0.5), 200 - 4*(x-0.5), 5 * (y - 0.5)}
			for c := range want {
				// Positions are rounded to 1/256 px: at most 1/512 of 5 levels a pixel.
				if d := math.Abs(float64(got[3*(j*size+i)+c]) - want[c]); d > 0.0101 {
					t.Fatalf("pixel (%d,%d) channel %d: off by %.4f levels", i, j, c, d)
				}
			}
		}
	}
}

func TestCropMatchesFloatSampling(t *testing.T) {
	rois := []ROI{
		{CX: 32, CY: 24, Size: 20},
		{CX: 30.2, CY: 25.9, Size: 33.3, Rotation: -0.52},
		{CX: 0, CY: 0, Size: 30, Rotation: 1},             // over a corner
		{CX: 62, CY: 46, Size: 90, Rotation: 3},           // around the frame, 2×2 samples
		{CX: -200, CY: 300, Size: 40, Rotation: -2},       // nothing of it in the frame
		{CX: 32, CY: 24, Size: 48, Rotation: math.Pi / 2}, // along the columns
	}
	for _, f := range formats {
		m := randomImage(f, 64, 48, 1)
		for _, r := range rois {
			compareCrop(t, m, r, 24)
		}
	}
}

func compareCrop(t *testing.T, m Image, r ROI, size int) {
	t.Helper()
	got := crop(t, m, r, size)
	sub := 1
	if r.Size > 2*float64(size) {
		sub = 2
	}
	n := float64(size * sub)
	for j := range size {
		for i := range size {
			var want [3]float64
			for k := range sub * sub {
				x, y := r.Frame((float64(i*sub+k%sub)+0.5)/n, (float64(j*sub+k/sub)+0.5)/n)
				p := refBilinear(m, x, y)
				for c := range want {
					want[c] += p[c] / float64(sub*sub)
				}
			}
			for c := range want {
				if d := math.Abs(float64(got[3*(j*size+i)+c]) - want[c]); d > 0.35 { // 60 levels a pixel, 1/512 px
					t.Fatalf("%s %+v: pixel (%d,%d) channel %d: %.3f, want %.3f", m.Format, r, i, j, c, got[3*(j*size+i)+c], want[c])
				}
			}
		}
	}
}

func TestColoursAgreeAcrossFormats(t *testing.T) {
	field := func(x, y float64) [3]float64 {
		return [3]float64{60 + x, 200 - x - y/2, 40 + 2*y}
	}
	want := crop(t, paint(BGR, 64, 64, field), ROI{CX: 32, CY: 32, Size: 40, Rotation: 0.3}, 32)
	for _, f := range []Format{NV12, YUYV} {
		got := crop(t, paint(f, 64, 64, field), ROI{CX: 32, CY: 32, Size: 40, Rotation: 0.3}, 32)
		for i := range want {
			if d := math.Abs(float64(got[i] - want[i])); d > 4 { // chroma steps of two pixels, and rounding
				t.Fatalf("%s: value %d is %.1f, BGR has %.1f", f, i, got[i], want[i])
			}
		}
	}
}

func TestPrimariesOfBT601(t *testing.T) {
	for _, c := range []struct {
		luma, cb, cr byte
		rgb          [3]float64
	}{
		{16, 128, 128, [3]float64{0, 0, 0}},
		{235, 128, 128, [3]float64{255, 255, 255}},
		{81, 90, 240, [3]float64{255, 0, 0}},
		{145, 54, 34, [3]float64{0, 255, 0}},
		{41, 240, 110, [3]float64{0, 0, 255}},
		{255, 128, 128, [3]float64{255, 255, 255}}, // beyond the range: clamped
		{0, 128, 128, [3]float64{0, 0, 0}},
	} {
		m := Image{Format: YUYV, Width: 2, Height: 2, Pix: []byte{c.luma, c.cb, c.luma, c.cr, c.luma, c.cb, c.luma, c.cr}}
		got := crop(t, m, ROI{CX: 1, CY: 1, Size: 2}, 2)
		for i, v := range got {
			if math.Abs(float64(v)-c.rgb[i%3]) > 1.5 {
				t.Errorf("Y %d Cb %d Cr %d gives %v, want %v", c.luma, c.cb, c.cr, got[:3], c.rgb)
				break
			}
		}
	}
}

func TestLineInsideAgainstCounting(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		w, h, n := 1+rng.IntN(9), 1+rng.IntN(9), 1+rng.IntN(30)
		steps := []int64{0, 1, fixedOne, -fixedOne, rng.Int64N(3*fixedOne) - fixedOne*3/2}
		l := line{
			u: rng.Int64N(20*fixedOne) - 6*fixedOne, v: int64(rng.IntN(14)-3) * fixedOne,
			du: steps[rng.IntN(5)], dv: steps[rng.IntN(5)],
		}
		a, b := l.inside(n, w, h, 0)
		for x := range n {
			p := l.at(x)
			in := p.u >= 0 && p.v >= 0 && p.u>>32 <= int64(w-2) && p.v>>32 <= int64(h-2)
			if in != (x >= a && x < b) {
				t.Fatalf("%+v in %d×%d: sample %d inside is %t, range [%d,%d)", l, w, h, x, in, a, b)
			}
		}
	}
}

func TestTinyFramesAreReadInBounds(t *testing.T) {
	for _, f := range formats {
		for _, side := range [][2]int{{2, 2}, {4, 2}, {2, 6}, {6, 4}} {
			m := randomImage(f, side[0], side[1], 5)
			m.Pix = m.Pix[:len(m.Pix):len(m.Pix)]
			for _, angle := range []float64{0, 0.4, 2, -1} {
				compareCrop(t, m, ROI{CX: 1.5, CY: 1.2, Size: 5, Rotation: angle}, 9)
			}
		}
	}
	m := randomImage(BGR, 1, 1, 5)
	compareCrop(t, m, ROI{CX: 0.5, CY: 0.5, Size: 3}, 4)
}

func TestBadImagesAndRegionsAreRefused(t *testing.T) {
	good := randomImage(BGR, 8, 8, 1)
	for name, m := range map[string]Image{
		"no pixels":  {Format: BGR, Width: 8, Height: 8},
		"short":      {Format: BGR, Width: 8, Height: 8, Pix: good.Pix[:191]},
		"odd NV12":   {Format: NV12, Width: 8, Height: 7, Pix: good.Pix},
		"odd YUYV":   {Format: YUYV, Width: 7, Height: 8, Pix: good.Pix},
		"format":     {Format: "RGB", Width: 8, Height: 8, Pix: good.Pix},
		"empty":      {Format: BGR, Width: 0, Height: 8, Pix: good.Pix},
		"too wide":   {Format: BGR, Width: 1 << 20, Height: 1, Pix: good.Pix},
		"zero value": {},
	} {
		if err := m.Validate(); !errors.Is(err, ErrImage) {
			t.Errorf("%s: error %v, want ErrImage", name, err)
		}
	}
	for _, r := range []ROI{{}, {Size: -1}, {Size: math.NaN()}, {Size: math.Inf(1)}, {Size: 9, CX: math.NaN()}, {Size: 9, Rotation: math.Inf(1)}, {Size: 9, CY: 1e9}} {
		c, _ := NewCropper(4, RGBUnit)
		if err := c.Fill(make([]float32, 48), good, r); !errors.Is(err, ErrROI) {
			t.Errorf("%+v: error %v, want ErrROI", r, err)
		}
	}
}
