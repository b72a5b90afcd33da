package track

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestOneEuroGolden compares with a separate scalar calculation of the published algorithm, at
// irregular times, one repeated (0.15) and one going back (0.19): those repeat the output.
func TestOneEuroGolden(t *testing.T) {
	times := []float64{0, 0.03, 0.07, 0.08, 0.15, 0.15, 0.2, 0.19, 0.25}
	values := []float64{1.0, 1.2, 0.9, 3.0, 3.1, 9.9, 2.0, 7.0, 2.5}
	for _, c := range []struct {
		params OneEuroParams
		want   []float64
	}{
		{OneEuroParams{1, 0, 1}, []float64{1, 1.031720027518, 1.005264238779, 1.123187825566, 1.727044981529, 1.727044981529, 1.792296850416, 1.792296850416, 1.98605104266}},
		{OneEuroParams{1.5, 0.2, 2}, []float64{1, 1.052021915081, 1.010173567026, 1.550489713127, 2.670556508284, 2.670556508284, 2.335143794363, 2.335143794363, 2.418260349718}},
	} {
		var f OneEuro
		var g OneEuroPoints
		for i, x := range values {
			out := []float64{0, 0}
			f.Filter(out, []float64{x, -x}, times[i], 1, c.params)
			if math.Abs(out[0]-c.want[i]) > 1e-9 || math.Abs(out[1]+c.want[i]) > 1e-9 {
				t.Errorf("%+v, sample %d: got %v, want ±%v", c.params, i, out, c.want[i])
			}
			// A point that moves along one axis is filtered like a number.
			point := [][3]float32{{0, float32(x), 0}}
			g.Filter(point, point, times[i], 1, c.params)
			if math.Abs(float64(point[0][1])-c.want[i]) > 1e-5 || point[0][0] != 0 {
				t.Errorf("%+v, sample %d: point %v, want y = %v", c.params, i, point[0], c.want[i])
			}
		}
	}
}

func TestOneEuroPointsDoNotDependOnDirectionOrScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	p := OneEuroParams{2, 20, 1}
	var plain, turned, large OneEuroPoints
	s, c := math.Sincos(0.7)
	for i := range 100 {
		x, y := float32(i)+float32(rng.NormFloat64()), float32(rng.NormFloat64())
		a := [][3]float32{{x, y, 1}}
		b := [][3]float32{{float32(c)*x - float32(s)*y, float32(s)*x + float32(c)*y, 1}}
		d := [][3]float32{{4 * x, 4 * y, 4}}
		now := float64(i) / 30
		plain.Filter(a, a, now, 100, p)
		turned.Filter(b, b, now, 100, p)
		large.Filter(d, d, now, 400, p)
		wantX, wantY := c*float64(a[0][0])-s*float64(a[0][1]), s*float64(a[0][0])+c*float64(a[0][1])
		if math.Abs(float64(b[0][0])-wantX) > 1e-3 || math.Abs(float64(b[0][1])-wantY) > 1e-3 {
			t.Fatalf("sample %d: turned input gives %v, want (%g, %g)", i, b[0], wantX, wantY)
		}
		if math.Abs(float64(d[0][0]-4*a[0][0])) > 2e-3 {
			t.Fatalf("sample %d: at four times the resolution %v, want 4 × %v", i, d[0], a[0])
		}
	}
}

// TestDefaultsAreCalmAndQuick: with the default parameters, jitter of a resting face about
// halves, and a face that crosses its own size in a second lags by less than 2 % of it.
func TestDefaultsAreCalmAndQuick(t *testing.T) {
	p := Smoothing{}.withDefaults().Points
	rng := rand.New(rand.NewPCG(3, 4))
	const size, jitter = 200.0, 0.5
	var rest, moving OneEuroPoints
	var in, out, lag float64
	for i := range 600 {
		now := float64(i) / 30
		x := jitter * rng.NormFloat64()
		a := [][3]float32{{float32(x), 0, 0}}
		rest.Filter(a, a, now, size, p)
		at := size * now
		b := [][3]float32{{float32(at), 0, 0}}
		moving.Filter(b, b, now, size, p)
		if i > 60 {
			in, out, lag = in+x*x, out+float64(a[0][0]*a[0][0]), max(lag, at-float64(b[0][0]))
		}
	}
	t.Logf("jitter × %.2f, lag %.2f %% of the face", math.Sqrt(out/in), 100*lag/size)
	if ratio := math.Sqrt(out / in); ratio > 0.55 {
		t.Errorf("jitter is only reduced to %.2f, want ≤ 0.55", ratio)
	}
	if lag > 0.02*size {
		t.Errorf("lags %.1f %% of the face size, want ≤ 2 %%", 100*lag/size)
	}
}

func TestOneEuroSurvivesBadSamples(t *testing.T) {
	var f OneEuro
	var g OneEuroPoints
	p := OneEuroParams{1, 1, 1}
	for i, x := range []float64{math.NaN(), 1, math.Inf(1), 1, math.NaN(), 1, -1e300, 1} {
		out := []float64{x}
		f.Filter(out, out, float64(i), 1, p)
		point := [][3]float32{{float32(x), 0, 0}}
		g.Filter(point, point, float64(i), 1, p)
		if i > 0 && (out[0] != 1 || point[0] != [3]float32{1, 0, 0}) {
			t.Errorf("sample %d (%g): got %v and %v, want 1", i, x, out, point)
		}
	}
	f.Filter([]float64{0, 0}, []float64{5, 6}, 9, 1, p) // another length starts anew
	two := []float64{7, 8}
	f.Filter(two, []float64{5, 6}, math.NaN(), math.NaN(), p)
	if two[0] != 5 || two[1] != 6 {
		t.Errorf("after a NaN time: got %v, want the last output", two)
	}
}

func BenchmarkOneEuroPoints478(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	points := make([][3]float32, 478)
	for i := range points {
		points[i] = [3]float32{rng.Float32() * 640, rng.Float32() * 480, rng.Float32() * 50}
	}
	out := make([][3]float32, len(points))
	var f OneEuroPoints
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		points[i%478][0]++
		f.Filter(out, points, float64(i)/30, 150, OneEuroParams{2, 20, 1})
	}
}
