// Multiplications of a warp by matrix units of compute capability 8.0: D += A·B with A 16 rows, B 8 columns, D 16 × 8. Lane l has of A words
// of the rows l/4 and l/4+8, of B words of column l/4, of D the columns l%4*2, +1 of the rows l/4 (d[0], d[1]) and l/4+8. A word is 4 bytes of
// values that stand side by side; which ones they are does not matter as long as A and B agree.
#pragma once
#include "portable.cuh"

namespace {

struct Half { // two halves a word, sums in float32
	typedef float Sum;
	static const int BYTES = 2;
};

struct Byte { // four signed bytes a word, sums in int32
	typedef int Sum;
	static const int BYTES = 1;
};

#ifdef __CUDACC__
__device__ __forceinline__ void multiply(Half, float (&d)[4], const u32 *upper, const u32 *lower, u32 b0, u32 b1) {
	asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
	    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
	    : "r"(upper[0]), "r"(lower[0]), "r"(upper[1]), "r"(lower[1]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ void multiply(Byte, int (&d)[4], const u32 *upper, const u32 *lower, u32 b0, u32 b1) {
	asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
	    : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
	    : "r"(upper[0]), "r"(lower[0]), "r"(upper[1]), "r"(lower[1]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ void multiply_once(Byte, int (&d)[4], u32 upper, u32 lower, u32 b) {
	asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
	    : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
	    : "r"(upper), "r"(lower), "r"(b));
}
#else
static inline float dot(Half, u32 a, u32 b) {
	__half a0 = {u16(a)}, a1 = {u16(a >> 16)}, b0 = {u16(b)}, b1 = {u16(b >> 16)};
	return __half2float(a0) * __half2float(b0) + __half2float(a1) * __half2float(b1);
}

static inline int dot(Byte, u32 a, u32 b) {
	int sum = 0;
	for (int i = 0; i < 32; i += 8) {
		sum += int(static_cast<signed char>(a >> i)) * int(static_cast<signed char>(b >> i));
	}
	return sum;
}

template <typename T> static inline void multiply_once(T type, typename T::Sum (&d)[4], u32 upper, u32 lower, u32 b) {
	u32 lane = threadIdx.x % 32, row = lane / 4 * 4, column = lane % 4 * 8;
	for (u32 q = 0; q < 4; q++) {
		u32 a0 = __shfl_sync(0xffffffff, upper, int(row + q)), a1 = __shfl_sync(0xffffffff, lower, int(row + q));
		u32 b0 = __shfl_sync(0xffffffff, b, int(column + q)), b1 = __shfl_sync(0xffffffff, b, int(column + 4 + q));
		d[0] += dot(type, a0, b0), d[1] += dot(type, a0, b1), d[2] += dot(type, a1, b0), d[3] += dot(type, a1, b1);
	}
}

template <typename T> static inline void multiply(T type, typename T::Sum (&d)[4], const u32 *upper, const u32 *lower, u32 b0, u32 b1) {
	multiply_once(type, d, upper[0], lower[0], b0);
	multiply_once(type, d, upper[1], lower[1], b1);
}
#endif

} // namespace
