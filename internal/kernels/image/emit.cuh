// Colours and normalisation, as package vision emits them: float32, no two roundings in one.
#pragma once
#include "sample.cuh"

struct Norm { // vision.Factors
	float scale, bias, low, high, luma, first, last, green_cb, green_cr;
	u32 blue;
};

#define NORM_PARAMETERS \
	float scale, float bias, float low, float high, float luma, float first, float last, float green_cb, float green_cr, u32 blue
#define NORM {scale, bias, low, high, luma, first, last, green_cb, green_cr, blue}

__device__ static inline float scaled(const Norm &n, int v) { return __fadd_rn(__fmul_rn((float)v, n.scale), n.bias); }

__device__ static inline float limited(const Norm &n, float v) { return v < n.low ? n.low : v > n.high ? n.high : v; }

__device__ static inline void emit(float (&out)[3], const Norm &n, u32 format, const Sample &s) {
	if (format == BGR) {
		out[0] = scaled(n, n.blue ? s.c[0] : s.c[2]);
		out[1] = scaled(n, s.c[1]);
		out[2] = scaled(n, n.blue ? s.c[2] : s.c[0]);
		return;
	}
	float y = __fadd_rn(__fmul_rn((float)(s.c[0] - 16 * 65536), n.luma), n.bias);
	float cb = (float)(s.c[1] - 128 * 65536), cr = (float)(s.c[2] - 128 * 65536);
	out[1] = limited(n, __fadd_rn(__fadd_rn(y, __fmul_rn(n.green_cb, cb)), __fmul_rn(n.green_cr, cr)));
	out[0] = limited(n, __fadd_rn(y, __fmul_rn(n.first, n.blue ? cb : cr)));
	out[2] = limited(n, __fadd_rn(y, __fmul_rn(n.last, n.blue ? cr : cb)));
}

template <typename T> __device__ static inline void store(T *to, const float (&v)[3]) {
	to[0] = from_float<T>(v[0]);
	to[1] = from_float<T>(v[1]);
	to[2] = from_float<T>(v[2]);
}

// Copies count values from shared memory, which begins at a multiple of 16 bytes, to device memory; each of the threads calls it.
template <typename T> __device__ static inline void copy_out(u64 to, const T *from, u32 count, u32 thread, u32 threads) {
	if (to % 16 == 0 && count * sizeof(T) % 16 == 0) {
		for (u32 i = thread; i < count * sizeof(T) / 16; i += threads) {
			at<uint4>(to)[i] = reinterpret_cast<const uint4 *>(from)[i];
		}
		return;
	}
	for (u32 i = thread; i < count; i += threads) {
		at<T>(to)[i] = from[i];
	}
}
