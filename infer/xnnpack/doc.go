// Package xnnpack is the "cpu" backend: it runs graphs with XNNPACK and with kernels of its own. It needs the build
// tag xnnpack, cgo, and the libraries XNNPACK and pthreadpool (Debian: libxnnpack-dev); without the tag it is empty.
//
// A graph is lowered in passes (program.go lists them) to a list of steps, and a run is one call into C that goes
// through the list. All activations are in one block of memory, placed by their lifetimes when the session is opened;
// a run allocates nothing.
//
// # What runs where
//
// XNNPACK runs what is not hot in our networks, in any shape that it supports: element-wise arithmetic with
// broadcasting, clamps, PReLU, sigmoid, padding, pooling, and convolutions that are grouped, dilated, narrow or of
// large kernels. Each of these is an XNNPACK subgraph of one node: the subgraph interface is the one that stayed the
// same through the library's versions. Longer subgraphs were slower (landmarks 1108 µs against 1015 µs), because
// XNNPACK plans the memory of each of them apart.
//
// Our kernels (vector_kernels.h: one source for vectors of 4, 8 and 16 floats, chosen at run time) run 1×1
// convolutions, 3×3 depthwise convolutions, first layers of up to 4 channels, 2×2 pooling, residual additions, PReLU
// and layer normalisation. XNNPACK does each of these in a pass over memory of its own; ours do the chain "depthwise,
// 1×1, residual, PReLU" tile by tile in the first-level cache. Reductions, transposes, slices, nearest-neighbour
// enlargement and concatenation are plain C, as this version of XNNPACK lacks them.
//
// # Why both
//
// One thread of a Xeon with AVX-512 (two virtual cores, not idle), µs for one image, best of runs taken in turn:
//
//	                XNNPACK alone   with our kernels   plain Go
//	BlazeFace                 890                501      15841
//	landmarks                1109                521      24007
//	blendshapes               509                391      12248
//	YuNet 320                3137               2068      66957
//	YuNet 640               14489               9206     276247
//
// XNNPACK's matrix product alone reaches 130 to 170 GFLOP/s here; what it loses is lost between the operators. So
// the fused kernels carry the speed, and XNNPACK the breadth: a network with other operators, such as another detector,
// runs without new code.
package xnnpack
