// y[kept] = act(scale × sum of x[kept, index] over a second shape). A warp makes one sum.
#include "views.cuh"

extern "C" __global__ void reduce_view(u64 x, u64 y, u32 n, u32 terms, u32 xItem, u32 yItem, u32 flags, float scale, AXES6(s), AXES6(a), AXES6(t), AXES6(b)) {
	u32 i = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
	float sum[1] = {0}, v[1];
	if (i < n) {
		u32 first[1] = {blockIdx.y * xItem};
		locate(first, i, Axes(PASS6(s)), {Axes(PASS6(a))});
		for (u32 k = lane; k < terms; k += 32) {
			u32 place[1] = {first[0]};
			locate(place, k, Axes(PASS6(t)), {Axes(PASS6(b))});
			read(v, x, place[0], flags & 1, false);
			sum[0] += v[0];
		}
	}
#pragma unroll
	for (int bits = 16; bits; bits /= 2) {
		sum[0] += __shfl_xor_sync(0xffffffff, sum[0], bits);
	}
	if (i < n && lane == 0) {
		sum[0] *= scale;
		activate(flags >> 8, sum, sum);
		write(y, blockIdx.y * yItem + i, flags & 2, sum);
	}
}
EMULATED(reduce_view);
