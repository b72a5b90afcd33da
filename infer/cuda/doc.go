// Package gpu runs networks on an NVIDIA GPU with the kernels of internal/kernels/nn.
//
// A [Network] is a graph that was fused into few launches, with its constants on the device. An [Exec] runs it, on memory and a
// stream of its own: [Exec.Enqueue] for callers whose inputs are on the GPU, [Exec.Run] for host memory. Package infer finds all of this
// as the backend "cuda". In half precision, images and what convolutions compute are float16; lists of numbers, sums and
// the network's outputs stay float32.
package gpu
