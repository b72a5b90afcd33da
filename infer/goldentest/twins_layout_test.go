package goldentest

import (
	"math"
	"math/rand/v2"

	mb "facetrack/internal/modelbuild"
)

func layoutTwins() []twin {
	r := rand.New(rand.NewPCG(5, 6))
	w, tail := random(r, 10, 1, 1, 4), random(r, 1, 7, 6, 3)
	conv := convFormula(w, array{}, 1, 1, [2]int{}, 10)
	return []twin{
		{"pad", "t", func(b *mb.Builder, x mb.Tensor) mb.Tensor {
			return b.Pad(x, []int{0, 1, 0, 0}, []int{0, 0, 2, 3})
		}, []int{1, 8, 8, 7}, func(x array, i []int) float64 { return x.at(0, i[1]-1, i[2], i[3]) }},
		{"pad folded into conv", "t", func(b *mb.Builder, x mb.Tensor) mb.Tensor {
			p := b.Pad(x, []int{0, 1, 2, 0}, []int{0, 0, 1, 0})
			return b.Conv2D(p, b.Const(w.shape, w.data), mb.None, mb.Stride(2))
		}, []int{1, 4, 5, 10}, func(x array, i []int) float64 {
			return convFormula(w, array{}, 2, 1, [2]int{1, 2}, 10)(x, i)
		}},
		{"reshape", "to", func(b *mb.Builder, x mb.Tensor) mb.Tensor { return b.Reshape(x, 1, -1, 8) }, []int{1, 21, 8},
			func(x array, i []int) float64 { return float64(x.data[i[1]*8+i[2]]) }},
		{"transpose", "to", func(b *mb.Builder, x mb.Tensor) mb.Tensor { return b.Transpose(x, 0, 3, 1, 2) }, []int{1, 4, 7, 6},
			func(x array, i []int) float64 { return x.at(0, i[2], i[3], i[1]) }},
		{"transposed twice", "to", func(b *mb.Builder, x mb.Tensor) mb.Tensor {
			return b.Neg(b.Transpose(b.Reshape(x, 1, 42, 4), 0, 2, 1))
		}, []int{1, 4, 42}, func(x array, i []int) float64 { return -float64(x.data[i[2]*4+i[1]]) }},
		{"transpose of unit axes", "to", func(b *mb.Builder, x mb.Tensor) mb.Tensor {
			return b.Relu(b.Transpose(b.Reshape(x, 1, 42, 1, 4), 0, 2, 1, 3))
		}, []int{1, 1, 42, 4}, func(x array, i []int) float64 { return relu(float64(x.data[i[2]*4+i[3]])) }},
		{"concat channels", "to", func(b *mb.Builder, x mb.Tensor) mb.Tensor {
			return b.Concat(3, x, b.Const(tail.shape, tail.data), b.Neg(x))
		}, []int{1, 7, 6, 11}, func(x array, i []int) float64 {
			return x.at(i...) + tail.at(0, i[1], i[2], i[3]-4) - x.at(0, i[1], i[2], i[3]-7)
		}},
		{"concat rows of lists", "to", func(b *mb.Builder, x mb.Tensor) mb.Tensor {
			return b.Concat(1, b.Reshape(x, 1, 42, 4), b.Reshape(b.Relu(x), 1, 42, 4))
		}, []int{1, 84, 4}, func(x array, i []int) float64 {
			if i[1] < 42 {
				return float64(x.data[i[1]*4+i[2]])
			}
			return relu(float64(x.data[(i[1]-42)*4+i[2]]))
		}},
		{"strided slice", "t", func(b *mb.Builder, x mb.Tensor) mb.Tensor {
			return b.StridedSlice(x, []int{0, 1, 0, 1}, []int{1, -1, 5, 0}, []int{1, 2, 1, 2}, mb.Masks{End: 8})
		}, []int{1, 3, 5, 2}, func(x array, i []int) float64 { return x.at(0, 1+2*i[1], i[2], 1+2*i[3]) }},
		{"strided slice that drops an axis", "t", func(b *mb.Builder, x mb.Tensor) mb.Tensor {
			return b.StridedSlice(x, []int{0, -2, 3, 0}, []int{1, 0, 6, 4}, []int{1, 1, 1, 1}, mb.Masks{Begin: 4, Shrink: 2})
		}, []int{1, 6, 4}, func(x array, i []int) float64 { return x.at(0, 5, i[1], i[2]) }},
		{"detector head", "to", func(b *mb.Builder, x mb.Tensor) mb.Tensor {
			y := b.Conv2D(x, b.Const(w.shape, w.data), mb.None)
			return b.Logistic(b.Reshape(y, 1, -1, 10))
		}, []int{1, 42, 10}, func(x array, i []int) float64 {
			return 1 / (1 + math.Exp(-conv(x, []int{0, i[1] / 6, i[1] % 6, i[2]})))
		}},
		{"image after a list", "to", func(b *mb.Builder, x mb.Tensor) mb.Tensor {
			y := b.Reshape(b.Neg(x), 1, 6, 7, 4)
			return b.Reshape(b.Conv2D(y, b.Const(w.shape, w.data), mb.None), 1, 420)
		}, []int{1, 420}, func(x array, i []int) float64 {
			return -conv(array{[]int{1, 6, 7, 4}, x.data}, []int{0, i[1] / 70, i[1] / 10 % 7, i[1] % 10})
		}},
	}
}
