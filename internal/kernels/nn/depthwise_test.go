package nn

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// result runs f and gives the n elements at y, and expects those around it untouched.
func (r *rig) result(p Precision, n, offset int, f func(y uint64) error) []float32 {
	r.Helper()
	untouched := bytes.Repeat([]byte{0xa5}, (n+64)*p.Bytes())
	y := r.take(len(untouched), offset*p.Bytes())
	r.upload(y, untouched)
	r.must(f(y))
	got := r.download(y, len(untouched))
	if !bytes.Equal(got[n*p.Bytes():], untouched[n*p.Bytes():]) {
		r.Error("bytes behind the result were written")
	}
	return decode(p, got[:n*p.Bytes()])
}

// place uploads values; what lies behind them is not a number, and would show.
func (r *rig) place(p Precision, values []float32, offset int) uint64 {
	r.Helper()
	data := append(encode(p, values), bytes.Repeat([]byte{0xff}, 128)...)
	at := r.take(len(data), offset*p.Bytes())
	r.upload(at, data)
	return at
}

func (r *rig) checkDepthwise(rnd *rand.Rand, p Precision, d Depthwise, batch, offset int) {
	r.Helper()
	r.taken = 0
	out := d.window().made(d.In.C)
	x := random(rnd, p, batch*d.In.Len(), 1)
	w, bias := random(rnd, F32, d.In.C*d.Kernel[0]*d.Kernel[1], 0.5), random(rnd, F32, d.In.C, 0.3)
	var slope []float32
	if d.Act == PRelu {
		slope = random(rnd, F32, d.In.C, 0.5)
	}
	if rnd.IntN(8) == 0 {
		bias = nil
	}
	constants, err := r.set.PackDepthwise(p, d, w, bias, slope)
	r.must(err)
	at := r.take(len(constants), 0)
	r.upload(at, constants)
	from, to := r.place(p, x, offset), p
	if d.OutFloat {
		to = F32
	}
	got := r.result(to, batch*out.Len(), offset, func(y uint64) error {
		return r.set.Depthwise(r.stream, p, d, out, from, y, at, batch)
	})
	t := newTwin(r.T)
	want := t.run(batch, [][]float32{x}, t.depthwise(t.input(d.In), d, out, w, bias, slope))[0]
	taps := float64(d.Kernel[0] * d.Kernel[1])
	differ(r.T, got, want, func(i int) float64 {
		b := 2e-6 * (1 + taps)
		if to == F16 {
			b += halfStep*math.Abs(float64(want[i])) + halfFloor
		}
		return b
	})
	if r.Failed() {
		r.Logf("batch %d, offset %d, %+v", batch, offset, d)
	}
}

func TestDepthwise(t *testing.T) {
	precisions(t, func(t *testing.T, p Precision) {
		rnd, r := rand.New(rand.NewPCG(7, uint64(p))), newRig(t)
		for _, c := range []int{1, 3, 4, 8, 10, 16, 24, 42, 64} {
			for stride := range 2 {
				for act := None; act <= Logistic; act++ {
					d := *unit(Image{10, 10, c}, 1+stride, c, act, NoResidual, 0).Front
					d.OutFloat = act == Logistic
					r.checkDepthwise(rnd, p, d, 1+2*stride, 0)
				}
			}
		}
	})
}

func TestRandomDepthwise(t *testing.T) {
	precisions(t, func(t *testing.T, p Precision) {
		rnd, r := rand.New(rand.NewPCG(8, uint64(p))), newRig(t)
		for i := range 100 {
			c := randomConv(rnd)
			d := Depthwise{In: c.In, Kernel: c.reads().kernel, Stride: c.reads().stride, Pads: c.reads().pads, Act: c.Act, OutFloat: c.OutFloat}
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				r.T = t
				r.checkDepthwise(rnd, p, d, 1+rnd.IntN(4), rnd.IntN(4))
			})
		}
		r.T = t
	})
}
