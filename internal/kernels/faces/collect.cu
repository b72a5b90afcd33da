// records[face].blendshapes = scores[face], a block for each face
#include "record.cuh"

extern "C" __global__ void collect(u64 scores, u32 n, u64 records, u32 record_bytes) {
	float *to = at<float>(records + (u64)blockIdx.x * record_bytes) + BLENDSHAPES;
	if (threadIdx.x < n) {
		to[threadIdx.x] = __ldg(at<const float>(scores) + blockIdx.x * n + threadIdx.x);
	}
}
EMULATED(collect);
