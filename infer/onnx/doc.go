// Package onnx loads ONNX models (opset 11 to 13) as inference graphs.
//
// ONNX images are NCHW, graphs here are NHWC. The loader converts while it reads: a rank-4 graph input [1,C,H,W]
// becomes [1,H,W,C], convolutions and what follows them stay in that layout, and weights are reordered. Where the
// file itself leaves the image layout (Transpose, Reshape), it gets the element order that it means: the file's own
// transposition to NHWC becomes the identity. A rank-4 output that is still an image comes out as NHWC.
//
// A file is never trusted: every size is bounded before it is used and each error names what is wrong.
package onnx

import "errors"

// ErrMalformed says that the file is not an ONNX model, or is truncated or corrupt.
var ErrMalformed = errors.New("onnx: malformed model")

// ErrUnsupported says that the model uses an operator, option or data type that the graph cannot express.
var ErrUnsupported = errors.New("onnx: unsupported")
