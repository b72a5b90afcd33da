// Package infer holds neural networks as one small graph and runs them on a backend.
//
// The loaders infer/tflite and infer/onnx make a [Graph]: NHWC activations with static shapes for one batch item,
// float32 constants, and two dozen operators. [Graph.Validate] checks it, [Optimize] folds and fuses it, and [Open]
// does both and hands it to a backend. Backends register themselves; package infer/backends imports all
// that a binary is built with.
package infer
