package goldentest

import (
	"math"
	"math/rand/v2"

	mb "facetrack/internal/modelbuild"
)

func twins() []twin { return append(append(windowTwins(), arithmeticTwins()...), layoutTwins()...) }

// convFormula is the definition of a convolution: strides s, dilation d, pads before p, cg input channels and og output
// channels per group.
func convFormula(w, bias array, s, d int, p [2]int, og int) func(x array, i []int) float64 {
	cg := w.shape[3]
	return func(x array, i []int) float64 {
		sum := 0.0
		if bias.data != nil {
			sum = bias.at(i[3])
		}
		for ky := range w.shape[1] {
			for kx := range w.shape[2] {
				for c := range cg {
					sum += w.at(i[3], ky, kx, c) * x.at(0, i[1]*s+ky*d-p[0], i[2]*s+kx*d-p[1], i[3]/og*cg+c)
				}
			}
		}
		return sum
	}
}

func then(f func(array, []int) float64, g func(float64) float64) func(array, []int) float64 {
	return func(x array, i []int) float64 { return g(f(x, i)) }
}

func relu(v float64) float64 { return math.Max(v, 0) }

func windowTwins() []twin {
	r := rand.New(rand.NewPCG(1, 2))
	w33, w11, w22 := random(r, 8, 3, 3, 4), halved(random(r, 9, 1, 1, 4)), random(r, 6, 3, 3, 2)
	dw, dw2, bias8 := random(r, 4, 3, 3, 1), halved(random(r, 8, 3, 3, 1)), random(r, 8)
	slope, dense := random(r, 8), halved(random(r, 5, 24))
	conv := func(w, bias array, opts ...mb.Option) func(*mb.Builder, mb.Tensor) mb.Tensor {
		return func(b *mb.Builder, x mb.Tensor) mb.Tensor {
			bt := mb.None
			if bias.data != nil {
				bt = b.Const(bias.shape, bias.data)
			}
			return b.Conv2D(x, b.Const(w.shape, w.data), bt, opts...)
		}
	}
	plain := convFormula(w33, bias8, 1, 1, [2]int{1, 1}, 8)
	return []twin{
		{"conv same stride 2 relu", "to", conv(w33, bias8, mb.Same(), mb.Stride(2), mb.Relu()), []int{1, 4, 3, 8},
			then(convFormula(w33, bias8, 2, 1, [2]int{1, 0}, 8), relu)}, // 7 rows need 1+1, 6 columns 0+1
		{"conv 1x1 half", "to", func(b *mb.Builder, x mb.Tensor) mb.Tensor {
			return b.Conv2D(x, b.Half(w11.shape, w11.data), mb.None)
		}, []int{1, 7, 6, 9}, convFormula(w11, array{}, 1, 1, [2]int{}, 9)},
		{"conv valid dilated", "to", conv(w33, bias8, mb.Dilation(2)), []int{1, 3, 2, 8}, convFormula(w33, bias8, 1, 2, [2]int{}, 8)},
		{"conv grouped", "to", conv(w22, array{}, mb.Groups(2)), []int{1, 5, 4, 6}, convFormula(w22, array{}, 1, 1, [2]int{}, 3)},
		{"conv explicit pads", "to", conv(w33, bias8, mb.Pads(2, 1, 0, 1), mb.Stride(2)), []int{1, 4, 3, 8},
			convFormula(w33, bias8, 2, 1, [2]int{2, 1}, 8)},
		{"depthwise same", "to", conv(dw, array{}, mb.Groups(4), mb.Same()), []int{1, 7, 6, 4}, convFormula(dw, array{}, 1, 1, [2]int{1, 1}, 1)},
		{"depthwise multiplier stride 2 half relu6", "t", func(b *mb.Builder, x mb.Tensor) mb.Tensor {
			return b.Conv2D(x, b.Half(dw2.shape, dw2.data), b.Const(bias8.shape, bias8.data), mb.Groups(4), mb.Same(), mb.Stride(2), mb.Relu6())
		}, []int{1, 4, 3, 8}, then(convFormula(dw2, bias8, 2, 1, [2]int{1, 0}, 2), func(v float64) float64 { return math.Min(relu(v), 6) })},
		{"conv prelu", "to", func(b *mb.Builder, x mb.Tensor) mb.Tensor {
			return b.PRelu(conv(w33, bias8, mb.Same())(b, x), b.Half([]int{8}, halved(slope).data))
		}, []int{1, 7, 6, 8}, func(x array, i []int) float64 {
			v := plain(x, i)
			return relu(v) - relu(-v)*halved(slope).at(i[3])
		}},
		{"conv without bias, prelu", "to", func(b *mb.Builder, x mb.Tensor) mb.Tensor {
			return b.PRelu(conv(w33, array{}, mb.Same())(b, x), b.Const([]int{8}, slope.data))
		}, []int{1, 7, 6, 8}, func(x array, i []int) float64 {
			v := convFormula(w33, array{}, 1, 1, [2]int{1, 1}, 8)(x, i)
			return relu(v) - relu(-v)*slope.at(i[3])
		}},
		{"dense relu", "t", func(b *mb.Builder, x mb.Tensor) mb.Tensor {
			return b.Dense(x, b.Half([]int{5, 24}, dense.data), b.Const([]int{5}, bias8.data[:5]), mb.Relu())
		}, []int{7, 5}, func(x array, i []int) float64 {
			sum := bias8.at(i[1])
			for k := range 24 {
				sum += dense.at(i[1], k) * float64(x.data[i[0]*24+k])
			}
			return relu(sum)
		}},
		{"max pool 2x2", "to", func(b *mb.Builder, x mb.Tensor) mb.Tensor { return b.MaxPool(x, 2, mb.Stride(2)) },
			[]int{1, 3, 3, 4}, poolFormula(2, 2, 0, 0)},
		{"max pool same", "to", func(b *mb.Builder, x mb.Tensor) mb.Tensor { return b.MaxPool(x, 3, mb.Same(), mb.Stride(2)) },
			[]int{1, 4, 3, 4}, poolFormula(3, 2, 1, 0)},
		{"resize nearest", "o", func(b *mb.Builder, x mb.Tensor) mb.Tensor { return b.ResizeNearest(x, 2, 3) },
			[]int{1, 14, 18, 4}, func(x array, i []int) float64 { return x.at(0, i[1]/2, i[2]/3, i[3]) }},
	}
}

// poolFormula takes the largest element of each window that lies inside x.
func poolFormula(k, s, py, px int) func(x array, i []int) float64 {
	return func(x array, i []int) float64 {
		best := math.Inf(-1)
		for y := i[1]*s - py; y < i[1]*s-py+k; y++ {
			for c := i[2]*s - px; c < i[2]*s-px+k; c++ {
				if y >= 0 && y < x.shape[1] && c >= 0 && c < x.shape[2] {
					best = math.Max(best, x.at(0, y, c, i[3]))
				}
			}
		}
		return best
	}
}
