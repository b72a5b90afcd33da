// A chain of convolutions over one item, by one thread block: what a unit makes for the next ones stays in shared memory. A unit puts its
// windows' values side by side (what its front makes of them, or they themselves; a 1×1 convolution finds them as they are), and multiplies.
//
// Images in shared memory have their channels rounded up to eights, the last ones 0; pixels are an odd number of 16 bytes apart.
#pragma once
#include "vector.cuh"

namespace {

const u32 THREADS = 384, WARPS = THREADS / 32; // 12 × 12 pixels of 128 channels are 12 products of 48 × 32
const u32 NOWHERE = 0xffffffff;

enum Kind { PLAIN, FRONT, WINDOW };
enum Residual { NO_RESIDUAL, SAME_RESIDUAL, POOLED_RESIDUAL }; // as in conv.go
enum Product { ROWS48_BY_32, ROWS16_BY_32, ROWS16_BY_16 };     // of a warp

// Unit is as chainUnit in chain_layout.go, word by word. A place in shared memory is in bytes from its first; `by_` something divides by it.
struct __align__(16) Unit {
	u32 kind;
	u32 weights;              // bytes from the constants' first
	u32 block, words, at;     // numbers in float32: bytes from the constants' first, 16 bytes each, their place in shared memory
	u32 from, from_pitch;     // the image that is read
	u32 h, w, c;              // of it; c is rounded up
	u32 stride_h, stride_w, top, left;
	u32 ow, by_ow;
	u32 values, pitch;        // what is multiplied, and bytes from one pixel of it to the next
	u32 vectors, by_vectors;  // of a pixel: of four channels of a front, of eight channels of all windows
	u32 tasks;                // of threads
	u32 segment, segments, by_segments; // pixels of a row that a front makes one after the other
	u32 front_activation;
	u32 taps_w, by_taps_w, tap_vectors, by_tap_vectors; // of a window
	u32 product, pixels, tiles, steps, chunks; // tiles of 16 pixels; steps of eight values; 16 bytes of weights for each lane
	u32 groups, by_groups, products;           // of channels; tasks of warps
	u32 bias, slope;          // floats from the block's first
	u32 activation;
	u32 residual_kind, residual, residual_pitch, residual_c, residual_row; // c is rounded up; pixels of a row
	u32 to, to_pitch;         // of the result, or NOWHERE
	u32 n, channels;          // rounded up, and true
	u32 output, out_float, out_item; // output 0: none
	u32 unused[12];
};
static_assert(sizeof(Unit) == 256, "as the host writes it");

// n / d, for n × d below 2³¹: by is 2³¹ / d, rounded up.
__device__ __forceinline__ u32 divided(u32 n, u32 by) { return u32(u64(n) * by >> 31); }

// Brings a unit's block from memory to shared memory: up to two words of each thread, which are on their way while something else is done.
struct Block {
	uint4 words[2];

	__device__ __forceinline__ void fetch(u64 from, u32 count) {
		const uint4 *p = at<const uint4>(from);
#pragma unroll
		for (u32 i = 0; i < 2; i++) {
			u32 k = threadIdx.x + i * THREADS;
			if (k < count) {
				words[i] = __ldg(p + k);
			}
		}
	}

	__device__ __forceinline__ void keep(unsigned char *to, u32 count) const {
#pragma unroll
		for (u32 i = 0; i < 2; i++) {
			u32 k = threadIdx.x + i * THREADS;
			if (k < count) {
				reinterpret_cast<uint4 *>(to)[k] = words[i];
			}
		}
	}
};

// The item's image, to shared memory.
__device__ __forceinline__ void take_image(const __half *x, unsigned char *to, u32 pixels, u32 channels, u32 by_vectors, u32 pitch) {
	const u32 BATCH = 6; // loads that are on their way together
	u32 vectors = (channels + 7) / 8, all = pixels * vectors;
	bool whole = channels % 8 == 0 && reinterpret_cast<size_t>(x) % 16 == 0;
	for (u32 first = threadIdx.x; first < all; first += BATCH * THREADS) {
		Values<__half, 8> v[BATCH];
#pragma unroll
		for (u32 i = 0; i < BATCH; i++) {
			u32 k = first + i * THREADS;
			if (whole && k < all) {
				v[i] = load_constant<8>(x + k * 8);
			}
		}
#pragma unroll
		for (u32 i = 0; i < BATCH; i++) {
			u32 k = first + i * THREADS, pixel = divided(k, by_vectors), c = (k - pixel * vectors) * 8;
			if (k >= all) {
				break;
			}
			if (!whole) {
#pragma unroll
				for (u32 j = 0; j < 8; j++) {
					v[i].values[j] = c + j < channels ? x[pixel * channels + c + j] : from_float<__half>(0);
				}
			}
			store(reinterpret_cast<__half *>(to + pixel * pitch) + c, v[i]);
		}
	}
}

// Activations as slopes below zero; what RELU6 and LOGISTIC are beyond that, bend does.
template <int V> __device__ __forceinline__ Values<float, V> slopes(u32 activation, const float *own) {
	Values<float, V> v;
	if (activation == PRELU) {
		return load<V>(own);
	}
#pragma unroll
	for (int i = 0; i < V; i++) {
		v.values[i] = activation == NONE || activation == LOGISTIC ? 1 : 0;
	}
	return v;
}

template <int V> __device__ __forceinline__ void bend(u32 activation, float (&v)[V], const Values<float, V> &slope) {
#pragma unroll
	for (int i = 0; i < V; i++) {
		v[i] = v[i] < 0 ? v[i] * slope.values[i] : v[i];
	}
	if (activation == RELU6 || activation == LOGISTIC) {
		activate(activation, v, slope.values);
	}
}

// sums = from + three rows of a column by their weights.
__device__ __forceinline__ void add_column(float (&sums)[4], const float (&from)[4], const float (&v)[3][4], const Values<float, 4> *w) {
#pragma unroll
	for (int i = 0; i < 4; i++) {
		sums[i] = from[i] + v[0][i] * w[0].values[i] + v[1][i] * w[3].values[i] + v[2][i] * w[6].values[i];
	}
}

// A depthwise convolution of 3 × 3: a thread makes some pixels of a row, four channels of each. A column is read once for all of them.
template <u32 STRIDE> __device__ __forceinline__ void front(const Unit &u, unsigned char *shared) {
	u32 h = u.h, w = u.w, from_pitch = u.from_pitch, row_bytes = w * from_pitch, pitch = u.pitch, activation = u.front_activation, tasks = u.tasks;
	for (u32 task = threadIdx.x; task < tasks; task += THREADS) {
		u32 rest = divided(task, u.by_vectors), c = (task - rest * u.vectors) * 4, oy = divided(rest, u.by_segments);
		u32 ox = (rest - oy * u.segments) * u.segment, left = min(u.segment, u.ow - ox);
		u32 y = oy * STRIDE - u.top, x = ox * STRIDE - u.left; // beyond the image also when negative
		const float *constants = reinterpret_cast<const float *>(shared + u.at) + c;
		Values<float, 4> taps[9], bias = load<4>(constants + 9 * u.c), slope = slopes<4>(activation, constants + 10 * u.c);
#pragma unroll
		for (int i = 0; i < 9; i++) {
			taps[i] = load<4>(constants + i * u.c);
		}
		unsigned char *to = shared + u.values + (oy * u.ow + ox) * pitch + c * 2;
		const unsigned char *from = shared + u.from + c * 2 + int((y * w + x) * from_pitch);
		const bool inside[3] = {y < h, y + 1 < h, y + 2 < h};
		float v[3][4], two[4], one[4]; // sums of pixels that have seen two columns and one
		auto read = [&]() {
#pragma unroll
			for (u32 r = 0; r < 3; r++) {
				Values<__half, 4> a;
				if (inside[r] && x < w) {
					a = load<4>(reinterpret_cast<const __half *>(from + r * row_bytes));
				}
#pragma unroll
				for (int i = 0; i < 4; i++) {
					v[r][i] = to_float(a.values[i]);
				}
			}
			x++, from += from_pitch;
		};
		read();
		add_column(one, bias.values, v, taps);
		if (STRIDE == 1) {
			read();
			add_column(two, one, v, taps + 1);
			add_column(one, bias.values, v, taps);
		}
		for (; left > 0; left--) {
			read();
			if (STRIDE == 2) {
				add_column(two, one, v, taps + 1);
				read();
			}
			float sums[4];
			add_column(sums, two, v, taps + 2);
			if (STRIDE == 1) {
				add_column(two, one, v, taps + 1);
			}
			add_column(one, bias.values, v, taps);
			bend(activation, sums, slope);
			store(reinterpret_cast<__half *>(to), rounded<__half>(sums));
			to += pitch;
		}
	}
}

// The windows' values themselves, eight channels at a time.
__device__ __forceinline__ void gather(const Unit &u, unsigned char *shared) {
	for (u32 task = threadIdx.x; task < u.tasks; task += THREADS) {
		u32 pixel = divided(task, u.by_vectors), vector = task - pixel * u.vectors;
		u32 tap = divided(vector, u.by_tap_vectors), c = (vector - tap * u.tap_vectors) * 8;
		u32 ky = divided(tap, u.by_taps_w), oy = divided(pixel, u.by_ow);
		u32 y = oy * u.stride_h - u.top + ky, x = (pixel - oy * u.ow) * u.stride_w - u.left + tap - ky * u.taps_w;
		Values<__half, 8> v;
		if (y < u.h && x < u.w) {
			v = load<8>(reinterpret_cast<const __half *>(shared + u.from + (y * u.w + x) * u.from_pitch) + c);
		}
		store(reinterpret_cast<__half *>(shared + u.values + pixel * u.pitch) + vector * 8, v);
	}
}

} // namespace
