package nn

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"facetrack/infer"
)

// trial is one convolution on the device and by its twin.
type trial struct {
	*rig
	p       Precision
	c       Conv
	batch   int
	offset  int // elements by which every address but the constants' is off a multiple of 256 bytes
	weights ConvWeights
	x, res  []float32
}

func (r *rig) trial(rnd *rand.Rand, p Precision, c Conv, batch int) *trial {
	k := c.k()
	v := &trial{rig: r, p: p, c: c, batch: batch}
	v.weights = ConvWeights{W: random(rnd, p, k*c.Out.C, 1/math.Sqrt(float64(k))), Bias: random(rnd, F32, c.Out.C, 0.3)}
	if c.Act == PRelu {
		v.weights.Slope = random(rnd, F32, c.Out.C, 0.5)
	}
	if f := c.Front; f != nil {
		v.weights.FrontW = random(rnd, F32, f.In.C*f.Kernel[0]*f.Kernel[1], 0.5)
		v.weights.FrontBias = random(rnd, F32, f.In.C, 0.3)
		if f.Act == PRelu {
			v.weights.FrontSlope = random(rnd, F32, f.In.C, 0.5)
		}
	}
	v.x, v.res = random(rnd, p, batch*c.In.Len(), 1), random(rnd, p, batch*v.residual().Len(), 1)
	return v
}

func (v *trial) residual() Image {
	switch v.c.Residual {
	case SameResidual:
		return Image{v.c.Out.H, v.c.Out.W, v.c.ResidualC}
	case PooledResidual:
		return Image{2 * v.c.Out.H, 2 * v.c.Out.W, v.c.ResidualC}
	}
	return Image{}
}

func (v *trial) check() {
	v.Helper()
	v.compare(v.device())
}

// compare holds items of Y against the twin's.
func (v *trial) compare(got []float32) {
	v.Helper()
	w := newTwin(v.T)
	in := [][]float32{v.x}
	x := w.input(v.c.In)
	var residual infer.ValueID
	if v.c.Residual != NoResidual {
		residual = w.input(v.residual())
		in = append(in, v.res)
	}
	y, front := w.conv(x, residual, v.c, v.weights)
	want := w.run(v.batch, in, y, front)
	sums := v.magnitudes(want[1])
	differ(v.T, got, want[0], func(i int) float64 { return v.bound(sums[i/v.c.Out.C], want[0][i]) })
}

// bound is how far from the exact result a value may be, when its summed products have a magnitude of at most sum. Half precision rounds what
// the front hands on, and the result.
func (v *trial) bound(sum float64, y float32) float64 {
	b := 2e-6 * (1 + sum)
	if v.p == F16 && v.c.Front != nil {
		b += halfStep * sum
	}
	if v.p == F16 && !v.c.OutFloat {
		b += halfStep*math.Abs(float64(y)) + halfFloor
	}
	return b
}

// magnitudes are, for each pixel, what the sum of its products is at most, over all channels; an activation may make it larger.
func (v *trial) magnitudes(x []float32) []float64 {
	k, largest := v.c.k(), 1.0
	for _, s := range v.weights.Slope {
		largest = max(largest, math.Abs(float64(s)))
	}
	in := window{v.c.In, v.c.Kernel, v.c.Stride, v.c.Pads}
	if v.c.Front != nil {
		in.in = Image{v.c.Out.H, v.c.Out.W, v.c.In.C}
	}
	columns := make([]float64, k) // the largest weight for each value
	for i, weight := range v.weights.W {
		columns[i%k] = max(columns[i%k], math.Abs(float64(weight)))
	}
	var out []float64
	for pixel := range v.batch * v.c.Out.H * v.c.Out.W {
		sum := 0.0
		in.each(v.c.Out, pixel, func(tap, at int) {
			for c := range v.c.In.C {
				sum += columns[tap*v.c.In.C+c] * math.Abs(float64(x[at+c]))
			}
		})
		out = append(out, largest*sum)
	}
	return out
}

// each calls f for every tap of a pixel's window that is inside the image, with the tap's number and the element where it begins.
func (w window) each(out Image, pixel int, f func(tap, at int)) {
	oy, ox, item := pixel/out.W%out.H, pixel%out.W, pixel/out.W/out.H
	for tap := range w.kernel[0] * w.kernel[1] {
		y, x := oy*w.stride[0]-w.pads[0]+tap/w.kernel[1], ox*w.stride[1]-w.pads[1]+tap%w.kernel[1]
		if y >= 0 && y < w.in.H && x >= 0 && x < w.in.W {
			f(tap, ((item*w.in.H+y)*w.in.W+x)*w.in.C)
		}
	}
}

// device gives the items of Y, and expects everything between and behind them untouched.
func (v *trial) device() []float32 {
	v.Helper()
	v.taken = 0
	constants, err := v.set.PackConv(v.p, v.c, v.weights)
	v.must(err)
	at := ConvAt{X: v.place(v.p, v.x, v.offset), Constants: v.take(len(constants), 0)}
	v.upload(at.Constants, constants)
	if len(v.res) > 0 {
		at.Residual = v.place(v.p, v.res, v.offset)
	}
	to := v.p
	if v.c.OutFloat {
		to = F32
	}
	untouched := bytes.Repeat([]byte{0xa5}, (v.batch*v.c.outItem()+64)*to.Bytes())
	at.Y = v.take(len(untouched), v.offset*to.Bytes())
	v.upload(at.Y, untouched)
	v.must(v.set.Conv(v.stream, v.p, v.c, at, v.batch))
	got, item, step := v.download(at.Y, len(untouched)), v.c.Out.Len()*to.Bytes(), v.c.outItem()*to.Bytes()
	var items []byte
	for b := range v.batch {
		items = append(items, got[b*step:b*step+item]...)
		copy(got[b*step:], untouched[:item])
	}
	if !bytes.Equal(got, untouched) {
		v.Error("bytes beside the result were written")
	}
	return decode(to, items)
}

func precisions(t *testing.T, f func(t *testing.T, p Precision)) {
	for _, p := range []Precision{F32, F16} {
		t.Run(p.String(), func(t *testing.T) { f(t, p) })
	}
}

func TestConvShapesOfTheNetworks(t *testing.T) {
	precisions(t, func(t *testing.T, p Precision) {
		rnd := rand.New(rand.NewPCG(1, uint64(p)))
		r := newRig(t)
		for _, s := range networkShapes {
			t.Run(s.name, func(t *testing.T) {
				r.T = t
				r.trial(rnd, p, s.c, s.batch).check()
			})
		}
		r.T = t
	})
}

func TestConvAtAnyAddress(t *testing.T) {
	precisions(t, func(t *testing.T, p Precision) {
		rnd, r := rand.New(rand.NewPCG(2, uint64(p))), newRig(t)
		for offset := 1; offset <= 8; offset *= 2 {
			for _, c := range []Conv{
				unit(Image{6, 6, 16}, 1, 32, PRelu, PooledResidual, 16),
				unit(Image{5, 7, 24}, 1, 24, Relu, SameResidual, 24),
				pointwise(Image{4, 4, 8}, 16, Relu),
			} {
				v := r.trial(rnd, p, c, 2)
				v.offset = offset
				v.check()
			}
		}
	})
}

func TestConvWithoutBias(t *testing.T) {
	precisions(t, func(t *testing.T, p Precision) {
		v := newRig(t).trial(rand.New(rand.NewPCG(3, 0)), p, unit(Image{4, 4, 8}, 1, 8, None, NoResidual, 0), 1)
		v.weights.Bias, v.weights.FrontBias = nil, nil
		v.check()
	})
}

// What no window covers may be anything.
func TestConvReadsOnlyItsWindows(t *testing.T) {
	precisions(t, func(t *testing.T, p Precision) {
		v := newRig(t).trial(rand.New(rand.NewPCG(11, 0)), p, full(Image{9, 9, 3}, 8, 1, 2, [4]int{}, None), 2)
		want := v.device()
		for i := range v.x {
			if pixel := i / 3 % 81; pixel/9%2 == 1 || pixel%9%2 == 1 {
				v.x[i] = float32(math.NaN())
			}
		}
		differ(t, v.device(), want, func(int) float64 { return 1e-30 })
	})
}

// The residual may lie where the result goes.
func TestConvInPlaceOfItsResidual(t *testing.T) {
	precisions(t, func(t *testing.T, p Precision) {
		r := newRig(t)
		v := r.trial(rand.New(rand.NewPCG(4, 0)), p, unit(Image{12, 12, 32}, 1, 32, PRelu, SameResidual, 32), 2)
		want := v.device()
		constants, err := r.set.PackConv(p, v.c, v.weights)
		r.must(err)
		r.taken = 0
		at := ConvAt{X: r.take(len(v.x)*4, 0), Residual: r.take(len(v.res)*4, 0), Constants: r.take(len(constants), 0)}
		at.Y = at.Residual
		r.upload(at.X, encode(p, v.x))
		r.upload(at.Residual, encode(p, v.res))
		r.upload(at.Constants, constants)
		r.must(r.set.Conv(r.stream, p, v.c, at, 2))
		differ(t, decode(p, r.download(at.Y, len(v.res)*p.Bytes())), want, func(int) float64 { return 1e-30 })
	})
}

// A batch fills larger tiles than one item, which changes nothing but the order of the work.
func TestConvItemsOfABatchAreAlike(t *testing.T) {
	precisions(t, func(t *testing.T, p Precision) {
		r := newRig(t)
		v := r.trial(rand.New(rand.NewPCG(5, 0)), p, unit(Image{5, 5, 16}, 1, 24, Relu, SameResidual, 16), 800)
		all, n := v.device(), v.c.Out.Len()
		if one, many := v.c.tiling(p, 1, 0), v.c.tiling(p, v.batch, 0); one.m >= many.m {
			t.Fatalf("tiles of %d and %d pixels: the test shows nothing", one.m, many.m)
		}
		x, res := v.x, v.res
		for _, item := range []int{0, 7, 799} {
			v.x, v.res, v.batch = x[item*v.c.In.Len():][:v.c.In.Len()], res[item*v.residual().Len():][:v.residual().Len()], 1
			differ(t, v.device(), all[item*n:][:n], func(int) float64 { return 1e-30 })
		}
	})
}

func TestRandomConvs(t *testing.T) {
	precisions(t, func(t *testing.T, p Precision) {
		rnd, r := rand.New(rand.NewPCG(6, uint64(p))), newRig(t)
		for i := range 150 {
			c, batch := randomConv(rnd), 1+rnd.IntN(4)
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				r.T = t
				v := r.trial(rnd, p, c, batch)
				v.offset = rnd.IntN(4) * rnd.IntN(3)
				v.check()
				if t.Failed() {
					t.Logf("batch %d, offset %d, %+v, front %+v", batch, v.offset, c, c.Front)
				}
			})
		}
		r.T = t
	})
}
