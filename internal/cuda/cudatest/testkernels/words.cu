// The words of portable.cuh, each in the smallest kernel that shows it; a test compiles and emulates them.
#include "portable.cuh"

// out[i] = in[n-1-i] by way of shared memory, for blocks of n threads in two rows
extern "C" __global__ void turn(u64 in, u64 out, u32 n) {
	__shared__ u32 values[256];
	u32 i = threadIdx.y * blockDim.x + threadIdx.x, first = blockIdx.x * n;
	values[i] = at<const u32>(in)[first + i];
	__syncthreads();
	at<u32>(out)[first + i] = values[n - 1 - i];
}
EMULATED(turn);

// out = sum of the 32 lanes' inputs, and the mask of those above a limit
extern "C" __global__ void reduce(u64 in, u64 out, float limit) {
	float v = at<const float>(in)[threadIdx.x], sum = v;
	for (int bits = 16; bits; bits /= 2) {
		sum += __shfl_xor_sync(0xffffffff, sum, bits);
	}
	u32 above = __ballot_sync(0xffffffff, v > limit);
	if (threadIdx.x == 0) {
		at<float>(out)[0] = sum;
		at<u32>(out)[1] = above;
	}
}
EMULATED(reduce);

// d (16 × 8 floats) = a (16 × 8 halves) · b (8 × 8 halves, by columns)
extern "C" __global__ void multiply(u64 a, u64 b, u64 d) {
	DYNAMIC_SHARED(bytes);
	u32 *rows = reinterpret_cast<u32 *>(bytes), lane = threadIdx.x;
	rows[lane] = at<const u32>(a)[lane];
	rows[lane + 32] = at<const u32>(a)[lane + 32];
	__syncwarp();
	float sum[4] = {0, 0, 0, 0};
	mma_16x8x8(sum, rows[lane], rows[lane + 32], at<const u32>(b)[lane]); // a row is four words
	for (int i = 0; i < 4; i++) {
		at<float>(d)[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = sum[i];
	}
}
EMULATED(multiply);

// *out += 1 from every thread
extern "C" __global__ void count(u64 out) { atomicAdd(at<u32>(out), 1u); }
EMULATED(count);

// A barrier of the warp that half of it does not come to.
extern "C" __global__ void stuck() {
	if (threadIdx.x < 16) {
		__syncwarp();
	}
}
EMULATED(stuck);

// out = x·x + y in two roundings, in single and in double precision
extern "C" __global__ void unfused(u64 out, float x, float y, u64 wideX, u64 wideY) {
	at<float>(out)[0] = __fadd_rn(__fmul_rn(x, x), y);
	at<double>(out)[1] = __dadd_rn(__dmul_rn(*at<const double>(wideX), *at<const double>(wideX)), *at<const double>(wideY));
}
EMULATED(unfused);
