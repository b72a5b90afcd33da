package modelbuild

import "math/rand/v2"

// EveryTFLite is a tiny network with every operator that TFLite models use here: input [1,6,5,2], output [1,3].
func EveryTFLite() *Builder {
	b, v := New("every"), repeatable(1)
	x := b.Input("image", 1, 6, 5, 2)
	y := b.Conv2D(x, v.half(b, 4, 3, 3, 2), v.half(b, 4), Stride(2), Same(), Relu())                   // [1,3,3,4]
	y = b.PRelu(b.Conv2D(y, v.half(b, 4, 3, 3, 1), v.constant(b, 4), Groups(4), Same()), v.half(b, 4)) // [1,3,3,4]
	y = b.Add(y, b.Relu(b.Pad(b.MaxPool(x, 2, Stride(2), Same()), []int{0, 0, 0, 1}, []int{0, 0, 0, 1})), Relu6())
	d := b.SquaredDifference(y, b.Neg(b.Mean(y, true, 3)))
	y = b.Mul(y, b.Rsqrt(b.Add(b.Mean(d, true, 3), b.Const(nil, []float32{1e-3}))))
	z := b.Transpose(b.Reshape(y, 1, 9, 4), 0, 2, 1) // [1,4,9]
	z = b.Concat(1, z, b.StridedSlice(z, []int{0, 1, 0}, []int{1, 3, 9}, []int{1, 1, 1}, Masks{}))
	z = b.Div(b.Sub(z, v.constant(b, 9)), b.Sqrt(b.Add(b.Mul(z, z), b.Const(nil, []float32{1}))))
	s := b.StridedSlice(b.Sum(z, false, 2), []int{0, 0}, []int{1, 6}, []int{1, 2}, Masks{Shrink: 1})
	b.Output("scores", b.Logistic(b.Dense(s, v.half(b, 3, 3), v.constant(b, 3))))
	return b
}

// EveryONNX is a tiny network with every operator that ONNX models use here: input [1,8,6,3], outputs [1,12,4] and
// an image [1,4,3,4].
func EveryONNX() *Builder {
	b, v := New("every"), repeatable(2)
	x := b.Input("image", 1, 8, 6, 3)
	y := b.Conv2D(x, v.constant(b, 4, 3, 3, 3), v.constant(b, 4), Stride(2), Pads(1, 1, 1, 1), Relu()) // [1,4,3,4]
	y = b.PRelu(b.Conv2D(y, v.constant(b, 4, 3, 3, 1), None, Groups(4), Same()), v.constant(b, 4))
	up := b.ResizeNearest(b.MaxPool(y, 2, Stride(2)), 2, 3)                        // [1,4,3,4]
	y = b.Mul(b.Add(y, up), b.Sub(v.constant(b, 4), b.Neg(up)))                    // [1,4,3,4]
	y = b.Div(y, b.Sqrt(b.Add(b.Mul(y, y), b.Const(nil, []float32{1}))))           // [1,4,3,4]
	z := b.Conv2D(b.Concat(3, y, up), v.constant(b, 4, 1, 1, 8), v.constant(b, 4)) // [1,4,3,4]
	b.Output("features", b.Relu(z))
	z = b.Transpose(b.Reshape(z, 1, -1, 4), 0, 2, 1)
	b.Output("scores", b.Logistic(b.Transpose(z, 0, 2, 1)))
	return b
}

// EveryTask is a bundle with a model and another member.
func EveryTask() []byte {
	return Task(Member{"net.tflite", EveryTFLite().TFLite()}, Member{"notes.txt", []byte("metadata")})
}

// values makes random constants.
type values struct{ r *rand.Rand }

func repeatable(seed uint64) values {
	return values{rand.New(rand.NewPCG(seed, seed))} // #nosec G404 -- weights of a sample, the same in every run
}

func (v values) numbers(shape []int) []float32 {
	out := make([]float32, product(shape))
	for i := range out {
		out[i] = float32(v.r.NormFloat64())
	}
	return out
}

func (v values) constant(b *Builder, shape ...int) Tensor { return b.Const(shape, v.numbers(shape)) }

func (v values) half(b *Builder, shape ...int) Tensor { return b.Half(shape, v.numbers(shape)) }
