package half

import (
	"math"
	"testing"
)

// value is what the bits of a half stand for, by the definition.
func value(h uint16) float64 {
	sign, exponent, fraction := 1-2*float64(h>>15), int(h>>10&31), float64(h&1023)
	switch {
	case exponent == 31 && fraction != 0:
		return math.NaN()
	case exponent == 31:
		return sign * math.Inf(1)
	case exponent == 0:
		return sign * math.Ldexp(fraction, -24)
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}

func TestEveryHalf(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		want, got := value(h), ToFloat32(h)
		if math.IsNaN(want) != math.IsNaN(float64(got)) || !math.IsNaN(want) && (float64(got) != want || math.Signbit(want) != math.Signbit(float64(got))) {
			t.Fatalf("%#04x is %v, want %v", h, got, want)
		}
		if math.IsNaN(want) {
			if !math.IsNaN(float64(Round(got))) {
				t.Fatalf("%#04x rounds to %v", h, Round(got))
			}
		} else if back := FromFloat32(got); back != h {
			t.Fatalf("%#04x comes back as %#04x", h, back)
		}
	}
}

// Between two neighbouring halves: the nearer one, in the middle the even one.
func TestRounding(t *testing.T) {
	for i := range 0x7c00 {
		h := uint16(i)
		low, high := value(h), value(h+1)
		if h+1 == 0x7c00 {
			high = 65536
		}
		middle := float32(low + (high-low)/2)
		even := h + h&1
		for _, c := range []struct {
			v    float32
			want uint16
		}{{math.Nextafter32(middle, 0), h}, {middle, even}, {math.Nextafter32(middle, 70000), h + 1}} {
			if got := FromFloat32(c.v); got != c.want {
				t.Fatalf("%v is %#04x, want %#04x", c.v, got, c.want)
			}
			if got := FromFloat32(-c.v); got != c.want|0x8000 {
				t.Fatalf("%v is %#04x, want %#04x", -c.v, got, c.want|0x8000)
			}
		}
	}
	for _, v := range []float32{65520, 1e10, float32(math.Inf(1))} {
		if FromFloat32(v) != 0x7c00 || FromFloat32(-v) != 0xfc00 {
			t.Errorf("%v is %#04x", v, FromFloat32(v))
		}
	}
	for _, v := range []float32{1e-10, math.SmallestNonzeroFloat32} {
		if FromFloat32(v) != 0 || FromFloat32(-v) != 0x8000 {
			t.Errorf("%v is %#04x", v, FromFloat32(v))
		}
	}
}

func TestBulk(t *testing.T) {
	values := []float32{0, 1, -2.5, Max, 0.1}
	data := Append([]byte{7}, values...)
	if len(data) != 1+2*len(values) || data[0] != 7 {
		t.Fatalf("% x", data)
	}
	out := make([]float32, len(values))
	Read(out, data[1:])
	for i, v := range values {
		if out[i] != Round(v) {
			t.Errorf("%v became %v", v, out[i])
		}
	}
}
