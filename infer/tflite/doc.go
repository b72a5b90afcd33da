// Package tflite loads TensorFlow Lite models (FlatBuffers, schema version 3) as inference graphs.
//
// It reads float32 networks whose constants are float32 or float16 behind DEQUANTIZE. SAME padding is resolved to
// explicit pads, depthwise weights become grouped ones, and attributes that TFLite keeps in integer tensors become
// node fields. A file is never trusted: every size is bounded before it is used and each error names what is wrong.
package tflite
