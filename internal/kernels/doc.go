// Package kernels holds the GPU kernels of the ring's proofs: stamping every 32 × 32 byte tile of a frame with the
// frame's number, counting tiles that do not carry it, and reading a proof cell back.
//
// Each kernel is one .cu file with its PTX beside it, which is embedded, so that building needs no CUDA toolkit.
// "make kernels" compiles the PTX anew (package ptx loads it); MANIFEST has the hashes of sources and PTX and the compiler's version, and a test
// fails when they do not fit together. StampHost and CheckHost are the same sums in plain Go.
//
// A frame is rows × rowBytes bytes without gaps: NV12 has rows of Width bytes and Height*3/2 of them, BGR rows of 3*Width,
// YUYV rows of 2*Width. The byte in column x of tile number t (counted along rows) is byte x%8, lowest first, of the
// 64-bit word Mix(seq, t).
//
// stamp_tiles and check_tiles run with blocks of 32 × 8 threads over a grid of ceil(rowBytes/512) × ceil(rows/32) blocks;
// read_canary is one block of 8 threads.
package kernels
