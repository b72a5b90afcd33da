// Package image holds the GPU kernels that read camera frames: package vision's Letterboxer, Cropper and appearance
// descriptor, straight from a frame in device memory (NV12, YUYV or BGR with tight rows) to a network's input.
//
// A launch takes frames or regions of any cameras at once: an array of items in device memory, made on the host by Letterbox and
// AppendRegion. Sample positions, weights and colours are vision's own, so that inputs in float32 are the same bit for bit (on
// processors where Go fuses no multiplications with additions, such as x86-64); those in half precision are rounded to nearest.
// The appearance descriptor, whose region a kernel of package faces computes, agrees to within 0.001.
package image
