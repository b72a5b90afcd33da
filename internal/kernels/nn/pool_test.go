package nn

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"facetrack/infer"
	"facetrack/internal/half"
)

func (r *rig) checkPool(rnd *rand.Rand, p Precision, v window, act Activation, batch, offset int) {
	r.Helper()
	r.taken = 0
	out, x := v.made(v.in.C), random(rnd, p, batch*v.in.Len(), 3)
	from := r.place(p, x, offset)
	got := r.result(p, batch*out.Len(), offset, func(y uint64) error {
		return r.set.MaxPool(r.stream, p, v.in, out, v.kernel, v.stride, v.pads, act, from, y, batch)
	})
	t := newTwin(r.T)
	y := t.activated(t.window(infer.MaxPool2D, v, out, 1, t.input(v.in)), out, act, nil)
	want := t.run(batch, [][]float32{x}, y)[0]
	if p == F16 {
		for i := range want {
			want[i] = half.Round(want[i])
		}
	}
	differ(r.T, got, want, func(int) float64 {
		if act == Logistic {
			return 1e-6 + 2*halfStep*float64(p)
		}
		return 1e-30
	})
	if r.Failed() {
		r.Logf("batch %d, offset %d, %+v", batch, offset, v)
	}
}

func TestMaxPool(t *testing.T) {
	precisions(t, func(t *testing.T, p Precision) {
		rnd, r := rand.New(rand.NewPCG(9, uint64(p))), newRig(t)
		for _, in := range []Image{{20, 20, 16}, {16, 16, 28}, {16, 16, 42}, {6, 6, 128}, {8, 8, 1}, {8, 8, 3}} {
			for _, act := range []Activation{None, Relu, Relu6, Logistic} {
				r.checkPool(rnd, p, window{in: in, kernel: two, stride: two}, act, 3, 0)
			}
		}
	})
}

func TestRandomMaxPool(t *testing.T) {
	precisions(t, func(t *testing.T, p Precision) {
		rnd, r := rand.New(rand.NewPCG(10, uint64(p))), newRig(t)
		for i := range 100 {
			v := randomConv(rnd).reads()
			for i := range v.pads {
				v.pads[i] = min(v.pads[i], v.kernel[i%2]-1)
			}
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				r.T = t
				r.checkPool(rnd, p, v, []Activation{None, Relu, Relu6}[rnd.IntN(3)], 1+rnd.IntN(4), rnd.IntN(4))
			})
		}
		r.T = t
	})
}
