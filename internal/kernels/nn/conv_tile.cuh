// The tile of a block: where its pixels are in X, in Y and in the residual.
#pragma once
#include "window.cuh"

namespace { // each file of kernels has its own

enum Residual { NO_RESIDUAL, SAME_RESIDUAL, POOLED_RESIDUAL }; // as in conv.go

struct Conv {
	u64 x, residual, y, constants;
	u32 bias, slope, front; // bytes from the constants' first
	u32 pixels;             // of the batch
	Shape in;
	u32 oh, ow, n;
	u32 sh, sw;
	int top, left;
	u32 k, chunk;             // values summed up for a result; how many of them at a time, a multiple of 8
	u32 m, tile_w, tile_h;    // pixels of a tile; of an image that falls into such tiles, or 0: pixels in a row
	u32 groups;               // of 32 channels, in a block
	u32 activation, front_activation;
	u32 kind, residual_c;     // of the residual
	u32 residual_width, width; // values in one access of the residual and of Y: 8, 2 or 1
	u32 out_float, out_item;
};

#define CONV_PARAMETERS                                                                                                                                \
	u64 x, u64 residual, u64 y, u64 constants, u32 bias, u32 slope, u32 front, u32 pixels, u32 h, u32 w, u32 c, u32 kernel, u32 oh, u32 ow, u32 n,      \
		u32 stride, u32 pads, u32 k, u32 chunk, u32 m, u32 tile, u32 groups, u32 activations, u32 kind, u32 residual_c, u32 widths, u32 out_item
#define CONV_ARGUMENTS                                                                                                                                 \
	Conv {                                                                                                                                             \
		x, residual, y, constants, bias, slope, front, pixels, {h, w, c, kernel >> 16, kernel & 0xffff}, oh, ow, n, stride >> 16, stride & 0xffff,     \
			int(pads >> 16), int(pads & 0xffff), k, chunk, m, tile >> 16, tile & 0xffff, groups, activations & 0xff, activations >> 8, kind,           \
			residual_c, widths >> 8 & 0xff, widths & 0xff, widths >> 16, out_item                                                                      \
	}

const u32 NOWHERE = 0xffffffff;

struct Target { // of one pixel: where its channels begin in Y and in the residual
	u32 y, residual;
};

struct Tile { // in shared memory
	Window *windows;
	Target *targets;
	unsigned char *values; // M rows of `chunk` values
	float *front;          // the front's constants
};

__device__ static inline Tile tile_of(const Conv &v, unsigned char *shared, u32 row_bytes) {
	Tile t;
	t.windows = reinterpret_cast<Window *>(shared);
	t.targets = reinterpret_cast<Target *>(shared + v.m * sizeof(Window));
	t.values = shared + v.m * (sizeof(Window) + sizeof(Target)); // M is a multiple of 16
	t.front = reinterpret_cast<float *>(t.values + v.m * row_bytes);
	return t;
}

// The tile's pixels. Those behind the last one have no target and a window that is outside.
__device__ static inline void locate(const Conv &v, const Tile &t) {
	u32 wide = __ffs(v.tile_w) - 1, high = __ffs(v.tile_h) - 1; // sides of tiles are powers of two
	for (u32 row = threadIdx.x; row < v.m; row += blockDim.x) {
		u32 item, oy, ox;
		if (v.tile_h) {
			u32 across = v.ow >> wide, each = across * (v.oh >> high), tile;
			item = blockIdx.x / each;
			tile = blockIdx.x - item * each;
			u32 down = tile / across;
			oy = (down << high) + (row >> wide);
			ox = ((tile - down * across) << wide) + (row & (v.tile_w - 1));
		} else {
			u32 pixel = blockIdx.x * v.m + row, each = v.oh * v.ow;
			item = pixel / each;
			oy = (pixel - item * each) / v.ow;
			ox = pixel - item * each - oy * v.ow;
			if (pixel >= v.pixels) {
				t.windows[row] = OUTSIDE;
				t.targets[row] = {NOWHERE, 0};
				continue;
			}
		}
		t.windows[row] = {item * v.in.h * v.in.w * v.in.c, int(oy * v.sh) - v.top, int(ox * v.sw) - v.left};
		u32 residual = v.kind == POOLED_RESIDUAL ? ((item * v.oh + oy) * 2 * v.ow + ox) * 2 : (item * v.oh + oy) * v.ow + ox;
		t.targets[row] = {item * v.out_item + (oy * v.ow + ox) * v.n, residual * v.residual_c};
	}
}

// How threads share M rows of `groups` groups of values: neighbours take neighbouring groups.
struct Share {
	u32 group, groups_step, row, rows_step;
	__device__ __forceinline__ explicit Share(u32 groups) {
		groups_step = min(groups, blockDim.x);
		rows_step = blockDim.x / groups_step;
		row = threadIdx.x / groups_step;
		group = threadIdx.x - row * groups_step;
		if (row >= rows_step) {
			row = NOWHERE; // too few threads are left for a row
		}
	}
};

} // namespace
