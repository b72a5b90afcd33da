// The words of CUDA C++ on a CPU, so that the kernels' own sources run in tests on machines without a GPU. A block is as
// many fibers as it has threads, on one thread of the system: whoever comes to a barrier gives way until all have come.
// What this cannot show: races between blocks, misaligned loads, and how fast anything is.
#pragma once

// Kernels read and write the same memory as words and as values.
#pragma GCC optimize("no-strict-aliasing")

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __shared__ static thread_local
#define __align__(n) alignas(n)
#define __constant__ static const
#define __restrict__

struct dim3 { unsigned x, y, z; };
struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(4) uchar4 { unsigned char x, y, z, w; };
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(16) ulonglong2 { unsigned long long x, y; };
static inline float2 make_float2(float x, float y) { return {x, y}; }
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

namespace emulate {

struct Lane { // a thread of a block
	dim3 thread;
	unsigned number; // in its block
	uint64_t *slots; // of its warp: two sets of 32 × 8 words, used by turns
	unsigned turn;
};

extern thread_local Lane *lane;
extern thread_local dim3 block_index, block_size, grid_size;
extern thread_local unsigned char *dynamic_shared;

void *translate(uint64_t address); // of device memory, by the launch that runs
void block_barrier();
void warp_barrier(unsigned mask);

// What one lane says and all lanes of the warp read: up to 8 words.
struct Exchange {
	uint64_t (*slots)[8];
	explicit Exchange(unsigned mask) {
		lane->turn ^= 1;
		slots = reinterpret_cast<uint64_t(*)[8]>(lane->slots + lane->turn * 32 * 8);
		(void)mask;
	}
	uint64_t *own() { return slots[lane->number % 32]; }
};

template <typename T> T exchanged(unsigned mask, T value, unsigned from) {
	static_assert(sizeof(T) <= 8, "one word");
	Exchange e(mask);
	memcpy(e.own(), &value, sizeof value);
	warp_barrier(mask);
	memcpy(&value, e.slots[from % 32], sizeof value);
	return value;
}

// Kernels: their arguments come as one word each, of which a parameter takes the low bytes.
struct Kernel {
	const char *name; // begins as struct emulated_kernel in launch.h
	int arguments;
	size_t width[32];
	void (*call)(void (*kernel)(), const uint64_t *words);
	void (*kernel)();
	Kernel *next;
};
extern Kernel *kernels;

template <typename T> T argument(uint64_t word) {
	T value;
	memcpy(&value, &word, sizeof value);
	return value;
}

template <size_t... I> struct Indices {};
template <size_t N, size_t... I> struct Count : Count<N - 1, N - 1, I...> {};
template <size_t... I> struct Count<0, I...> { typedef Indices<I...> type; };

template <typename... A, size_t... I> void spread(void (*kernel)(A...), const uint64_t *words, Indices<I...>) {
	kernel(argument<A>(words[I])...);
}

template <typename... A> void call(void (*kernel)(), const uint64_t *words) {
	spread(reinterpret_cast<void (*)(A...)>(kernel), words, typename Count<sizeof...(A)>::type());
}

struct Registration {
	Kernel entry;
	template <typename... A> Registration(const char *name, void (*kernel)(A...))
		: entry{name, sizeof...(A), {sizeof(A)...}, call<A...>, reinterpret_cast<void (*)()>(kernel), kernels} {
		static_assert(sizeof...(A) <= 32, "arguments of a kernel");
		kernels = &entry;
	}
};

} // namespace emulate

#define EMULATED(name) static emulate::Registration registration_of_##name(#name, name)

#define threadIdx (emulate::lane->thread)
#define blockIdx (emulate::block_index)
#define blockDim (emulate::block_size)
#define gridDim (emulate::grid_size)

#define __syncthreads() emulate::block_barrier()
static inline void __syncwarp(unsigned mask = ~0u) { emulate::warp_barrier(mask); }
template <typename T> T __shfl_sync(unsigned mask, T v, int from) { return emulate::exchanged(mask, v, from); }
template <typename T> T __shfl_xor_sync(unsigned mask, T v, int bits) { return emulate::exchanged(mask, v, emulate::lane->number ^ bits); }
template <typename T> T __shfl_down_sync(unsigned mask, T v, unsigned by) {
	unsigned own = emulate::lane->number % 32;
	return emulate::exchanged(mask, v, own + by < 32 ? own + by : own);
}
static inline unsigned __ballot_sync(unsigned mask, int predicate) {
	emulate::Exchange e(mask);
	*e.own() = predicate != 0;
	emulate::warp_barrier(mask);
	unsigned all = 0;
	for (unsigned i = 0; i < 32; i++) {
		all |= mask >> i & 1 ? (unsigned)e.slots[i][0] << i : 0;
	}
	return all;
}
static inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }

template <typename T> T __ldg(const T *p) { return *p; }
static inline unsigned __popc(unsigned v) { return (unsigned)__builtin_popcount(v); }
static inline int __ffs(int v) { return __builtin_ffs(v); }
static inline unsigned __float_as_uint(float f) { unsigned u; memcpy(&u, &f, 4); return u; }
static inline float __uint_as_float(unsigned u) { float f; memcpy(&f, &u, 4); return f; }
static inline float rsqrtf(float x) { return 1 / sqrtf(x); }
#define __expf expf
// Never fused: the compiler's base is an x86-64 without fused multiplication.
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline double __dadd_rn(double a, double b) { return a + b; }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline float __fdividef(float a, float b) { return a / b; }
template <typename T> T min(T a, T b) { return b < a ? b : a; }
template <typename T> T max(T a, T b) { return a < b ? b : a; }
static inline int min(int a, int b) { return b < a ? b : a; }
static inline int max(int a, int b) { return a < b ? b : a; }
static inline unsigned min(unsigned a, unsigned b) { return b < a ? b : a; }
static inline unsigned max(unsigned a, unsigned b) { return a < b ? b : a; }
template <typename T> T atomicAdd(T *p, T v) { T old = *p; *p = old + v; return old; }
template <typename T> T atomicMax(T *p, T v) { T old = *p; *p = old < v ? v : old; return old; }

// Half precision, rounded to nearest even as on the GPU.
struct __half { uint16_t bits; };
static inline float __half2float(__half h) { _Float16 v; memcpy(&v, &h, 2); return (float)v; }
static inline __half __float2half_rn(float f) { _Float16 v = (_Float16)f; __half h; memcpy(&h, &v, 2); return h; }

// D += A·B with A 16 × 8 halves in rows, B 8 × 8 halves in columns, D 16 × 8 floats, as mma.sync.m16n8k8 lays them out over a warp.
static inline void mma_16x8x8(float (&d)[4], unsigned a0, unsigned a1, unsigned b) {
	emulate::Exchange e(~0u);
	uint64_t *own = e.own();
	own[0] = a0, own[1] = a1, own[2] = b;
	emulate::warp_barrier(~0u);
	unsigned number = emulate::lane->number % 32, group = number / 4, pair = number % 4;
	auto value = [&](unsigned from, unsigned word, unsigned k) {
		__half h = {(uint16_t)(e.slots[from][word] >> 16 * (k & 1))};
		return __half2float(h);
	};
	for (unsigned k = 0; k < 8; k++) {
		float upper = value(group * 4 + k / 2, 0, k), lower = value(group * 4 + k / 2, 1, k);
		float left = value(2 * pair * 4 + k / 2, 2, k), right = value((2 * pair + 1) * 4 + k / 2, 2, k);
		d[0] += upper * left;
		d[1] += upper * right;
		d[2] += lower * left;
		d[3] += lower * right;
	}
}
