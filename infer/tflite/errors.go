package tflite

import "errors"

// ErrMalformed says that the file is not a TFLite model, or is truncated or corrupt.
var ErrMalformed = errors.New("tflite: malformed model")

// ErrUnsupported says that the model uses an operator, option or data type that the graph cannot express.
var ErrUnsupported = errors.New("tflite: unsupported")
