// Y = act(front(X) · W + bias + residual). A block makes a tile of M pixels (16, 32, 64 or 128 of all pixels of the batch) by some groups of
// 32 channels: all its threads put M × K values of front(X) into shared memory, then each of its first warps multiplies 32 pixels of them by one
// group's weights, which lie in memory in the order in which the lanes read them. When K is too large for shared memory, in chunks.
//
// Lane l of a warp sums for the pixels l/4, l/4+8, l/4+16 and l/4+24 the eight channels from l%4*8 on: it reads, adds and writes 16 bytes at a time.
#pragma once
#include "conv_finish.cuh"

namespace {

template <typename T, int V, int SLOTS, typename Fill> __device__ __forceinline__ void conv(const Conv &v, unsigned char *shared) {
	u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, parts = (v.m + 31) / 32, own = warp >> (__ffs(parts) - 1); // of 1, 2 or 4
	u32 row = (warp & (parts - 1)) * 32 + lane / 4, group = blockIdx.y * v.groups + own;
	bool works = own < v.groups && group * 32 < v.n, both = v.m > 16;
	u32 k = (v.k + 7) / 8 * 8, row_bytes = (v.chunk * u32(sizeof(T)) / 16 | 1) * 16, pitch = row_bytes / sizeof(T); // odd: other banks
	Tile t = tile_of(v, shared, row_bytes);
	Sums<T, SLOTS> sums;
	if (works) {
		sums.begin(v.constants + ZEROS, group, v.k, lane);
	}
	Fill::template prepare<T>(v, t);
	locate(v, t);
	for (u32 first = 0; first < k; first += v.chunk) {
		u32 end = min(first + v.chunk, k);
		__syncthreads();
		Fill::template fill<T, V>(v, t, first, end, pitch);
		__syncthreads();
		if (first == 0) {
			sums.clear();
		}
		if (works) {
			sums.add(t.values + row * row_bytes, pitch, first, end, both, lane);
		}
		if (Fill::WHOLE) {
			break; // so that no sums are kept while values are made
		}
	}
	u32 n = group * 32 + lane % 4 * 8;
	if (works && n < v.n) {
		finish(v, t, sums, row, n);
	}
}

} // namespace

// A block has up to 256 threads. SLOTS is 4, or 2 for tiles of 16 pixels.
#define CONV(name, T, V, SLOTS, ...)                                               \
	extern "C" __global__ void __launch_bounds__(256, 2) name(CONV_PARAMETERS) {   \
		DYNAMIC_SHARED(shared);                                                    \
		conv<T, V, SLOTS, __VA_ARGS__>(CONV_ARGUMENTS, shared);                    \
	}
