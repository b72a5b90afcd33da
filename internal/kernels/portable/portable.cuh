// What kernels use of CUDA beyond C++, so that the same source is also compiled for the CPU, where tests run it without a
// GPU (internal/cuda/cudatest/fake/emulate). A kernel takes at most 32 arguments of 1 to 8 bytes each; addresses are u64.
#pragma once

typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned char u8;

#ifdef __CUDACC__
#include <cuda_fp16.h>

#define EMULATED(kernel) static_assert(true, "")
#define DYNAMIC_SHARED(bytes) extern __shared__ __align__(16) unsigned char bytes[]

// at is device memory by its address.
template <typename T> __device__ __forceinline__ T *at(u64 address) { return reinterpret_cast<T *>(address); }

// D += A·B over a warp: A is 16 × 8 halves, B 8 × 8, D 16 × 8 floats. Lane l has of A the columns l%4*2, +1 of the rows l/4 (a0) and
// l/4+8 (a1), of B the rows l%4*2, +1 of column l/4, of D the columns l%4*2, +1 of the rows l/4 (d[0], d[1]) and l/4+8.
__device__ __forceinline__ void mma_16x8x8(float (&d)[4], u32 a0, u32 a1, u32 b) {
	asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
	    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
	    : "r"(a0), "r"(a1), "r"(b));
}
#else
#include "emulate.h"

#define DYNAMIC_SHARED(bytes) unsigned char *bytes = emulate::dynamic_shared

template <typename T> inline T *at(u64 address) { return static_cast<T *>(emulate::translate(address)); }
#endif

__device__ __forceinline__ float to_float(float v) { return v; }
__device__ __forceinline__ float to_float(__half v) { return __half2float(v); }
template <typename T> __device__ __forceinline__ T from_float(float v);
template <> __device__ __forceinline__ float from_float<float>(float v) { return v; }
template <> __device__ __forceinline__ __half from_float<__half>(float v) { return __float2half_rn(v); }
