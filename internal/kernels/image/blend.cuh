// Weighted means of source rows, rounded to 8 bits, in 16-bit lanes: weights add up to 256.
#pragma once
#include "portable.cuh"

template <typename V> struct Words;
template <> struct Words<uint4> {
	static const int COUNT = 4;
	__device__ static void split(u32 (&w)[4], uint4 v) { w[0] = v.x, w[1] = v.y, w[2] = v.z, w[3] = v.w; }
	__device__ static uint4 join(const u32 (&w)[4]) { return make_uint4(w[0], w[1], w[2], w[3]); }
};
template <typename V> struct Words {
	static const int COUNT = 1;
	__device__ static void split(u32 (&w)[1], V v) { w[0] = v; }
	__device__ static V join(const u32 (&w)[1]) { return (V)w[0]; }
};

// to[i] = mean of the bytes i of count rows, for the bytes of this thread, V at a time.
template <typename V>
__device__ static inline void blend_as(u8 *to, const u8 *from, u32 bytes, u32 stride, const u32 *weights, u32 count, u32 thread, u32 threads) {
	const int N = Words<V>::COUNT;
	for (u32 i = thread * sizeof(V); i < bytes; i += threads * sizeof(V)) {
		u32 even[N], odd[N], w[N];
		for (int k = 0; k < N; k++) {
			even[k] = odd[k] = 0x800080;
		}
		const u8 *row = from + i;
#pragma unroll 4
		for (u32 r = 0; r < count; r++) {
			u32 weight = __ldg(weights + r);
			Words<V>::split(w, __ldg(reinterpret_cast<const V *>(row + (u64)r * stride)));
			for (int k = 0; k < N; k++) {
				even[k] += (w[k] & 0xff00ff) * weight;
				odd[k] += (w[k] >> 8 & 0xff00ff) * weight;
			}
		}
		for (int k = 0; k < N; k++) {
			w[k] = (even[k] >> 8 & 0xff00ff) | (odd[k] & 0xff00ff00);
		}
		*reinterpret_cast<V *>(to + i) = Words<V>::join(w);
	}
}

struct Span { // bytes of a row
	u32 first, end;
};

// widened moves the ends of a span outwards, to multiples of 16 bytes where the row reaches so far.
__device__ static inline Span widened(u32 first, u32 end, u32 stride) { return {first & ~15u, min((end + 15) & ~15u, stride)}; }

// blend writes the mean of count rows over a span to shared memory, which begins at a multiple of 16 bytes.
__device__ static inline void blend(u8 *to, u64 rows, Span span, u32 stride, const u32 *weights, u32 count, u32 thread, u32 threads) {
	const u8 *from = at<const u8>(rows) + span.first;
	u32 bytes = span.end - span.first;
	if ((rows | stride) % 16 == 0) {
		blend_as<uint4>(to, from, bytes, stride, weights, count, thread, threads);
	} else if ((rows | stride) % 4 == 0) {
		blend_as<u32>(to, from, bytes, stride, weights, count, thread, threads);
	} else {
		blend_as<u8>(to, from, bytes, stride, weights, count, thread, threads);
	}
}
