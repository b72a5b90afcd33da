package vision

import (
	"errors"
	"math"
	"testing"
)

func letterbox(t testing.TB, m Image, size int, norm Normalization) ([]float32, Mapping) {
	t.Helper()
	l, err := NewLetterboxer(size, norm)
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]float32, size*size*3)
	for i := range dst {
		dst[i] = 1e6 // what stays is noticed
	}
	mapped, err := l.Fill(dst, m)
	if err != nil {
		t.Fatal(err)
	}
	return dst, mapped
}

func TestLetterboxAveragesTheCoveredArea(t *testing.T) {
	for _, c := range []struct{ w, h, size int }{
		{64, 48, 32},  // 2 : 1
		{96, 54, 32},  // 3 : 1, bars
		{48, 80, 32},  // 2.5 : 1, upright
		{50, 38, 32},  // 1.5625 : 1, a last row that is covered in part
		{194, 10, 32}, // flat
		{32, 32, 32},  // 1 : 1
	} {
		for _, f := range formats {
			m := randomImage(f, c.w, c.h, 9)
			got, mapped := letterbox(t, m, c.size, Normalization{Scale: 1})
			compareLetterbox(t, m, c.size, got, mapped)
		}
	}
}

func compareLetterbox(t *testing.T, m Image, size int, got []float32, mapped Mapping) {
	t.Helper()
	for j := range size {
		for i := range size {
			var want [3]float64
			x0, y0 := mapped.Frame(float64(i), float64(j))
			x1, y1 := mapped.Frame(float64(i+1), float64(j+1))
			if x0 >= -1e-9 && y0 >= -1e-9 && x0 < float64(m.Width)-1e-3 && y0 < float64(m.Height)-1e-3 {
				want = refBox(m, x0, y0, x1, y1)
			}
			for c := range want {
				// Whole rows are rounded to 8 bits, and in YUV an error of half a level becomes up to one in RGB.
				if d := math.Abs(float64(got[3*(j*size+i)+c]) - want[c]); d > 1.9 {
					t.Fatalf("%s %d×%d → %d: pixel (%d,%d) channel %d: %.2f, want %.2f", m.Format, m.Width, m.Height, size, i, j, c, got[3*(j*size+i)+c], want[c])
				}
			}
		}
	}
}

func TestLetterboxEnlargesBilinearly(t *testing.T) {
	for _, f := range formats {
		m := randomImage(f, 20, 12, 3)
		got, mapped := letterbox(t, m, 32, Normalization{Scale: 1})
		for j := 7; j < 25; j++ {
			for i := range 32 {
				x, y := mapped.Frame(float64(i)+0.5, float64(j)+0.5)
				want := refBilinear(m, x, y)
				for c := range want {
					if d := math.Abs(float64(got[3*(j*32+i)+c]) - want[c]); d > 0.35 {
						t.Fatalf("%s: pixel (%d,%d): %.2f, want %.2f", f, i, j, got[3*(j*32+i)+c], want[c])
					}
				}
			}
		}
	}
}

func TestLetterboxDoesNotAlias(t *testing.T) {
	// Stripes of one pixel and a chirp up to that frequency: sampled without a filter they turn into
	// coarse bands. Averaged, 6:1 leaves under 20 % of the contrast.
	stripes := paint(BGR, 1920, 120, func(x, _ float64) [3]float64 {
		v := 255 * float64(int(x)%2)
		return [3]float64{v, v, v}
	})
	got, _ := letterbox(t, stripes, 320, Normalization{Scale: 1})
	for i, v := range got[160*320*3 : 161*320*3] {
		if math.Abs(float64(v)-127.5) > 1 {
			t.Fatalf("stripes: value %d is %.1f, want 127.5", i, v)
		}
	}
	chirp := paint(BGR, 1920, 120, func(x, _ float64) [3]float64 {
		v := 127.5 + 127.5*math.Sin(math.Pi*x*x/1920/2)
		return [3]float64{v, v, v}
	})
	got, _ = letterbox(t, chirp, 320, Normalization{Scale: 1})
	low, high := math.Inf(1), math.Inf(-1)
	for i := 160; i < 320; i++ { // half of the highest frequency and more, 6:1 below it
		v := float64(got[(160*320+i)*3])
		low, high = min(low, v), max(high, v)
	}
	if high-low > 0.25*255 {
		t.Errorf("chirp: contrast %.0f of 255 is left after 6:1", high-low)
	}
}

func TestLetterboxMapsBackWithinATwentiethOfAPixel(t *testing.T) {
	// A smooth blob at a known subpixel position must come back from its centroid in the input.
	for _, c := range []struct{ w, h, size int }{{1920, 1080, 320}, {640, 480, 320}, {480, 270, 320}, {600, 800, 128}, {160, 120, 320}} {
		x0, y0 := 0.37*float64(c.w)+0.13, 0.61*float64(c.h)-0.28
		spread := 0.03 * float64(max(c.w, c.h))
		m := paint(BGR, c.w, c.h, func(x, y float64) [3]float64 {
			v := 255 * math.Exp(-((x-x0)*(x-x0)+(y-y0)*(y-y0))/2/spread/spread)
			return [3]float64{v, v, v}
		})
		got, mapped := letterbox(t, m, c.size, Normalization{Scale: 1})
		var sum, sx, sy float64
		for i := 0; i < len(got); i += 3 {
			v := float64(got[i])
			sum += v
			sx += v * (float64(i/3%c.size) + 0.5)
			sy += v * (float64(i/3/c.size) + 0.5)
		}
		x, y := mapped.Frame(sx/sum, sy/sum)
		if math.Hypot(x-x0, y-y0) > 0.05*math.Max(1, mapped.Scale) {
			t.Errorf("%d×%d → %d: blob at (%.2f, %.2f) came back at (%.2f, %.2f)", c.w, c.h, c.size, x0, y0, x, y)
		}
	}
}

func TestLetterboxNormalizesAndOrdersChannels(t *testing.T) {
	m := paint(BGR, 64, 32, func(_, _ float64) [3]float64 { return [3]float64{255, 102, 0} })
	got, _ := letterbox(t, m, 32, RGBSigned)
	for i, want := range []float64{1, -0.2, -1} {
		if d := math.Abs(float64(got[(16*32+16)*3+i]) - want); d > 1e-3 {
			t.Errorf("RGB −1..1 channel %d: %.4f, want %.4f", i, got[(16*32+16)*3+i], want)
		}
		if got[i] != -1 {
			t.Errorf("bar is %v, want black (−1)", got[i])
		}
	}
	got, _ = letterbox(t, m, 32, BGR255)
	for i, want := range []float32{0, 102, 255} {
		if got[(16*32+16)*3+i] != want {
			t.Errorf("BGR 0..255 channel %d: %v, want %v", i, got[(16*32+16)*3+i], want)
		}
		if got[i] != 0 {
			t.Errorf("bar is %v, want 0", got[i])
		}
	}
}

func TestLetterboxerFollowsAChangeOfGeometry(t *testing.T) {
	l, err := NewLetterboxer(32, Normalization{Scale: 1})
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]float32, 32*32*3)
	for _, side := range [][2]int{{64, 48}, {48, 64}, {64, 64}, {20, 12}, {64, 48}} {
		m := randomImage(BGR, side[0], side[1], 11)
		mapped, err := l.Fill(dst, m)
		if err != nil {
			t.Fatal(err)
		}
		if side[0] >= 32 {
			compareLetterbox(t, m, 32, dst, mapped)
		}
	}
	if _, err := l.Fill(dst[1:], randomImage(BGR, 8, 8, 1)); !errors.Is(err, ErrImage) {
		t.Errorf("short destination: error %v, want ErrImage", err)
	}
	if _, err := l.Fill(dst, Image{}); !errors.Is(err, ErrImage) {
		t.Errorf("no image: error %v, want ErrImage", err)
	}
}

func TestTapsAddUp(t *testing.T) {
	for _, c := range []struct {
		src, n int
		scale  float64
	}{{640, 320, 2}, {1920, 320, 6}, {50, 32, 50.0 / 32}, {240, 180, 4.0 / 3}, {120, 213, 0.5625}, {3, 2, 1.5}, {1, 1, 1}} {
		tp := newTaps(c.src, c.n, c.scale, one)
		for i := range c.n {
			sum := uint64(0)
			for _, w := range tp.of(i) {
				sum += w
			}
			if sum != one || tp.first[i] < 0 || tp.first[i]+tp.count > c.src {
				t.Fatalf("%+v output %d: weights %v from %d add up to %d", c, i, tp.of(i), tp.first[i], sum)
			}
		}
	}
	if tp := newTaps(640, 320, 2, one); tp.count != 2 {
		t.Errorf("2:1 takes %d taps, want 2", tp.count)
	}
}
