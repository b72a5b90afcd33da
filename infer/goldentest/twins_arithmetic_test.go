package goldentest

import (
	"math"
	"math/rand/v2"

	mb "facetrack/internal/modelbuild"
)

func arithmeticTwins() []twin {
	r := rand.New(rand.NewPCG(3, 4))
	channel, column, full := random(r, 4), random(r, 1, 7, 1, 4), random(r, 1, 7, 6, 4)
	x4 := inputShape
	constant := func(b *mb.Builder, a array) mb.Tensor { return b.Const(a.shape, a.data) }
	positive := func(b *mb.Builder, x mb.Tensor) mb.Tensor { // x² + 1
		return b.Add(b.Mul(x, x), b.Const(nil, []float32{1}))
	}
	at := func(x array, i []int) float64 { return x.at(i...) }
	return []twin{
		{"relu", "to", (*mb.Builder).Relu, x4, then(at, relu)},
		{"neg", "to", (*mb.Builder).Neg, x4, then(at, func(v float64) float64 { return -v })},
		{"logistic", "to", (*mb.Builder).Logistic, x4, then(at, func(v float64) float64 { return 1 / (1 + math.Exp(-v)) })},
		{"sqrt", "to", func(b *mb.Builder, x mb.Tensor) mb.Tensor { return b.Sqrt(positive(b, x)) }, x4,
			then(at, func(v float64) float64 { return math.Sqrt(v*v + 1) })},
		{"rsqrt", "t", func(b *mb.Builder, x mb.Tensor) mb.Tensor { return b.Rsqrt(positive(b, x)) }, x4,
			then(at, func(v float64) float64 { return 1 / math.Sqrt(v*v+1) })},
		{"prelu", "to", func(b *mb.Builder, x mb.Tensor) mb.Tensor { return b.PRelu(x, constant(b, channel)) }, x4,
			func(x array, i []int) float64 { return relu(at(x, i)) - relu(-at(x, i))*channel.at(i[3]) }},
		{"add prelu", "to", func(b *mb.Builder, x mb.Tensor) mb.Tensor {
			return b.PRelu(b.Add(x, b.Neg(b.Mul(x, x))), constant(b, channel))
		}, x4, func(x array, i []int) float64 {
			v := at(x, i) - at(x, i)*at(x, i)
			return relu(v) - relu(-v)*channel.at(i[3])
		}},
		{"add channel relu", "to", func(b *mb.Builder, x mb.Tensor) mb.Tensor { return b.Add(x, constant(b, channel), mb.Relu()) }, x4,
			func(x array, i []int) float64 { return relu(at(x, i) + channel.at(i[3])) }},
		{"add column relu6", "t", func(b *mb.Builder, x mb.Tensor) mb.Tensor { return b.Add(x, constant(b, column), mb.Relu6()) }, x4,
			func(x array, i []int) float64 {
				return math.Min(relu(at(x, i)+column.at(0, i[1], 0, i[3])), 6)
			}},
		{"sub from constant", "to", func(b *mb.Builder, x mb.Tensor) mb.Tensor { return b.Sub(constant(b, column), x) }, x4,
			func(x array, i []int) float64 { return column.at(0, i[1], 0, i[3]) - at(x, i) }},
		{"mul relu", "to", func(b *mb.Builder, x mb.Tensor) mb.Tensor { return b.Mul(x, constant(b, full), mb.Relu()) }, x4,
			func(x array, i []int) float64 { return relu(at(x, i) * full.at(i...)) }},
		{"mul scalar", "to", func(b *mb.Builder, x mb.Tensor) mb.Tensor { return b.Mul(x, b.Const(nil, []float32{0.375})) }, x4,
			then(at, func(v float64) float64 { return v * 0.375 })},
		{"div", "to", func(b *mb.Builder, x mb.Tensor) mb.Tensor { return b.Div(x, positive(b, x)) }, x4,
			then(at, func(v float64) float64 { return v / (v*v + 1) })},
		{"squared difference from mean", "t", func(b *mb.Builder, x mb.Tensor) mb.Tensor {
			return b.SquaredDifference(x, b.Mean(x, true, 3))
		}, x4, func(x array, i []int) float64 { return math.Pow(at(x, i)-sumOver(x, i, 3)/4, 2) }},
		{"mean of pixels", "t", func(b *mb.Builder, x mb.Tensor) mb.Tensor { return b.Mean(x, true, 1, 2) }, []int{1, 1, 1, 4},
			func(x array, i []int) float64 {
				sum := 0.0
				for y := range 7 {
					sum += sumOver(x, []int{0, y, 0, i[3]}, 2)
				}
				return sum / 42
			}},
		{"sum of channels", "t", func(b *mb.Builder, x mb.Tensor) mb.Tensor { return b.Sum(x, false, 3) }, []int{1, 7, 6},
			func(x array, i []int) float64 { return sumOver(x, []int{0, i[1], i[2], 0}, 3) }},
		{"folded constants", "to", func(b *mb.Builder, x mb.Tensor) mb.Tensor {
			k := b.Mul(b.Neg(constant(b, channel)), constant(b, column))
			return b.Add(x, k)
		}, x4, func(x array, i []int) float64 { return at(x, i) - channel.at(i[3])*column.at(0, i[1], 0, i[3]) }},
	}
}

// sumOver adds along one axis.
func sumOver(x array, i []int, axis int) float64 {
	index := append([]int(nil), i...)
	sum := 0.0
	for index[axis] = 0; index[axis] < x.shape[axis]; index[axis]++ {
		sum += x.at(index...)
	}
	return sum
}
