// Package nn is the operators of networks as GPU kernels: convolutions with what stands around them, pooling, arithmetic, reductions and
// movement of data.
//
// Activations are dense and NHWC, one item of a batch after the other, in float32 or half precision. Constants are packed once by the host, in
// the order in which a kernel reads them. Every method queues one launch; addresses are those of item 0. What a launch writes must not
// overlap what it reads unless a method says otherwise.
//
// In half precision a [Chain] of small convolutions is one launch, in which a thread block keeps the images of an item in its shared memory.
package nn
