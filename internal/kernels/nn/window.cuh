// Windows that slide over an image, and depthwise sums over them.
#pragma once
#include "vector.cuh"

namespace { // each file of kernels has its own

struct __align__(16) Window { // of one result; in the image of an item that begins `item` values behind the first one
	u32 item;
	int y, x; // of its first row and column, which may lie outside
};

const u32 ZEROS = 128; // bytes in front of all constants

#define OUTSIDE (Window{0, -0x10000000, 0})

struct Shape { // of the image and of all windows over it
	u32 h, w, c, kh, kw;
};

// A depthwise convolution's constants: w [KH][KW][C], bias [C], for PReLU slope [C]; each begins at a multiple of 16 bytes.
struct DepthwiseConstants {
	const float *w, *bias, *slope;
};

__device__ __forceinline__ DepthwiseConstants depthwise_constants(const float *w, const Shape &s) {
	u32 taps = (s.kh * s.kw * s.c + 3) / 4 * 4, channels = (s.c + 3) / 4 * 4;
	return {w, w + taps, w + taps + channels};
}

// V channels from channel c on of a window's tap. Outside the image it reads zeros, which the host has put in front of all constants: no branch
// and no choice of values stands between one load and the next.
template <int V, typename T>
__device__ __forceinline__ Values<T, V> load_tap(const T *x, const T *zeros, const Window &window, const Shape &s, u32 ky, u32 kx, u32 c) {
	u32 y = window.y + ky, column = window.x + kx; // beyond the image also when negative
	const T *p = x + (window.item + (y * s.w + column) * s.c + c);
	return load_constant<V>(y < s.h && column < s.w ? p : zeros);
}

template <int V, typename T> __device__ __forceinline__ void add_products(float (&sums)[V], const Values<T, V> &v, const Values<float, V> &w) {
#pragma unroll
	for (int i = 0; i < V; i++) {
		sums[i] += to_float(v.values[i]) * w.values[i];
	}
}

template <bool SHARED, int V> __device__ __forceinline__ Values<float, V> load_weights(const float *p) {
	if constexpr (SHARED) {
		return load<V>(p);
	}
	return load_constant<V>(p);
}

// sums = act(bias + w · window) of V channels from channel c on, for P windows of K × K. All of X that it needs is asked for first. The constants
// are in shared memory or not.
template <int K, bool SHARED, int P, int V, typename T>
__device__ __forceinline__ void depthwise(const T *x, const T *zeros, const Window (&windows)[P], const Shape &s, const DepthwiseConstants &k, u32 c,
                                          u32 activation, float (&sums)[P][V]) {
	Values<T, V> taps[P][K * K];
#pragma unroll
	for (int p = 0; p < P; p++) {
#pragma unroll
		for (int tap = 0; tap < K * K; tap++) {
			taps[p][tap] = load_tap<V>(x, zeros, windows[p], s, tap / K, tap % K, c);
		}
	}
	Values<float, V> bias = load_weights<SHARED, V>(k.bias + c), slope;
	if (activation == PRELU) {
		slope = load_weights<SHARED, V>(k.slope + c);
	}
#pragma unroll
	for (int p = 0; p < P; p++) {
#pragma unroll
		for (int i = 0; i < V; i++) {
			sums[p][i] = bias.values[i];
		}
	}
#pragma unroll
	for (int tap = 0; tap < K * K; tap++) {
		Values<float, V> w = load_weights<SHARED, V>(k.w + tap * s.c + c);
#pragma unroll
		for (int p = 0; p < P; p++) {
			add_products(sums[p], taps[p][tap], w);
		}
	}
#pragma unroll
	for (int p = 0; p < P; p++) {
		activate(activation, sums[p], slope.values);
	}
}

// The same for one channel of one window of any size.
template <typename T>
__device__ __forceinline__ float depthwise_any(const T *x, const T *zeros, const Window &window, const Shape &s, const DepthwiseConstants &k, u32 c,
                                               u32 activation) {
	float sum[1] = {__ldg(k.bias + c)}, slope[1] = {activation == PRELU ? __ldg(k.slope + c) : 0};
	for (u32 ky = 0; ky < s.kh; ky++) {
		for (u32 kx = 0; kx < s.kw; kx++) {
			add_products(sum, load_tap<1>(x, zeros, window, s, ky, kx, c), load_constant<1>(k.w + (ky * s.kw + kx) * s.c + c));
		}
	}
	activate(activation, sum, slope);
	return sum[0];
}

} // namespace
