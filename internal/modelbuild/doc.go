// Package modelbuild writes small TFLite and ONNX models and `.task` bundles, for tests that must run without any
// downloaded file.
//
//	b := modelbuild.New("tiny")
//	x := b.Input("image", 1, 32, 32, 3) // always NHWC, also for ONNX
//	y := b.Conv2D(x, b.Const([]int{8, 3, 3, 3}, w), b.Const([]int{8}, bias), modelbuild.Stride(2), modelbuild.Same(), modelbuild.Relu())
//	y = b.PRelu(y, b.Half([]int{8}, slopes))
//	b.Output("features", y)
//	data := b.TFLite() // or b.ONNX()
//
// Shapes and weights have the layout of package infer: activations NHWC, weights [O,KH,KW,C/groups]. The writers
// convert: depthwise weights and SAME padding for TFLite; for ONNX images to NCHW, with a transposition wherever a
// reshape or another operator leaves the image layout, as in the public detector's heads. A model without bias
// passes modelbuild.None.
//
// The file is the builder's business, not the caller's: a mistake in a test's network (shapes that do not fit, an
// operator that the format does not have) panics and says which call is wrong.
package modelbuild
