package nn

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestWalk(t *testing.T) {
	dense := func(shape ...int) View { return View{Strides: Dense(shape), Item: elements(shape)} }
	images := dense(1, 6, 5, 8)
	for name, c := range map[string]struct {
		shape []int
		views []View
		want  string
	}{
		"dense":                     {[]int{1, 6, 5, 8}, []View{images, images}, "[60] [[4] [4]] true"},
		"halves":                    {[]int{240}, []View{{Precision: F16, Strides: []int{1}, Address: 8}, dense(240)}, "[60] [[4] [4]] true"},
		"channels repeated":         {[]int{6, 5, 8}, []View{{Strides: []int{0, 0, 1}}, images.as(40, 8, 1)}, "[30 2] [[0 4] [8 4]] true"},
		"a number":                  {[]int{6, 5, 8}, []View{{Strides: []int{0, 0, 0}}, images.as(40, 8, 1)}, "[60] [[0] [4]] true"},
		"a number at any address":   {[]int{8}, []View{{Address: 4, Item: 1, Strides: []int{0}}, dense(8)}, "[2] [[0] [4]] true"},
		"pixels repeated":           {[]int{3, 2, 5, 8}, []View{{Strides: []int{40, 0, 8, 1}}, dense(3, 2, 5, 8)}, "[3 2 10] [[40 0 4] [80 40 4]] true"},
		"transposed":                {[]int{8, 5}, []View{{Strides: []int{1, 8}}, dense(8, 5)}, "[8 5] [[1 8] [5 1]] false"},
		"a number written":          {[]int{8}, []View{dense(8), {Strides: []int{0}}}, "[8] [[1] [0]] false"},
		"no fours":                  {[]int{6, 5}, []View{dense(6, 5), dense(6, 5)}, "[30] [[1] [1]] false"},
		"an address between fours":  {[]int{8}, []View{{Strides: []int{1}, Address: 8}, dense(8)}, "[8] [[1] [1]] false"},
		"items between fours":       {[]int{8}, []View{{Strides: []int{1}, Item: 9}, dense(8)}, "[8] [[1] [1]] false"},
		"rows that do not fit":      {[]int{3, 8}, []View{{Strides: []int{9, 1}}, dense(3, 8)}, "[3 8] [[9 1] [8 1]] false"},
		"one element":               {[]int{1, 1}, []View{dense(1, 1), dense(1, 1)}, "[] [[] []] false"},
		"every second of each line": {[]int{3, 4}, []View{{Strides: []int{8, 2}}, dense(3, 4)}, "[12] [[2] [1]] false"},
	} {
		w := newWalk(c.shape, c.views...)
		if got := fmt.Sprint(w.shape, w.strides, w.wide); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// as is a view with other strides.
func (v View) as(strides ...int) View {
	v.Strides = strides
	return v
}

// Four elements at a time, and what makes that impossible: a repeated operand, an odd address, room between items, any precision.
func TestFours(t *testing.T) {
	r, rnd := newRig(t), rand.New(rand.NewPCG(13, 14))
	shape := []int{3, 2, 8}
	for n := range 64 {
		r.taken = 0
		var v [3]seen
		for i := range v {
			strides, item := []int{16, 8, 1}, 48+rnd.IntN(2)*(1+rnd.IntN(4))
			if i < 2 {
				strides = [][]int{strides, {0, 0, 1}, {8, 0, 1}, {2, 1, 0}, {0, 0, 0}}[rnd.IntN(5)]
			}
			s := seen{View: View{Precision: Precision(rnd.IntN(2)), Strides: strides, Item: item * min(1, i+rnd.IntN(2))}}
			s.values = random(rnd, s.Precision, item*3, 1)
			data := encode(s.Precision, s.values)
			s.Address = r.take(len(data), rnd.IntN(2)*4)
			r.upload(s.Address, data)
			v[i] = s
		}
		a, b, y := v[0], v[1], v[2]
		op := []func(a, b float32) float32{
			func(a, b float32) float32 { return a - b }, func(a, _ float32) float32 { return -a }, func(a, _ float32) float32 { return a },
		}[n%3]
		switch n % 3 {
		case 0:
			r.must(r.set.Binary(r.stream, Sub, shape, a.View, b.View, y.View, None, 3))
		case 1:
			r.must(r.set.Unary(r.stream, Neg, shape, a.View, y.View, None, 3))
		case 2:
			r.must(r.set.Move(r.stream, shape, a.View, y.View, None, 3))
		}
		for item := range 3 {
			for _, i := range indices(shape) {
				y.values[y.at(item, i)] = op(a.values[a.at(item, i)], b.values[b.at(item, i)])
			}
		}
		r.expect(y, fmt.Sprint("number ", n))
	}
}
