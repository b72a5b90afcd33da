#include "chain_product.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, 1)
	chain_f16(u64 x, u64 y1, u64 y2, u64 y3, u64 y4, u64 constants, u32 count, u32 pixels, u32 channels, u32 by_vectors, u32 image, u32 pitch) {
	DYNAMIC_SHARED(shared);
	const Unit *units = reinterpret_cast<const Unit *>(shared);
	Outputs outputs = {{y1, y2, y3, y4}};
	for (u32 i = threadIdx.x; i < count * u32(sizeof(Unit) / 16); i += THREADS) {
		reinterpret_cast<uint4 *>(shared)[i] = __ldg(at<const uint4>(constants) + i);
	}
	Block block;
	const Unit *first = at<const Unit>(constants);
	u32 words = __ldg(&first->words);
	block.fetch(constants + __ldg(&first->block), words);
	take_image(at<const __half>(x) + u64(blockIdx.x) * (pixels * channels), shared + image, pixels, channels, by_vectors, pitch);
	block.keep(shared + __ldg(&first->at), words);
	__syncthreads();
	Weights weights;
	weights.constants = constants;
	weights.begin(units[0]);
	for (u32 i = 0; i < count; i++) {
		const Unit &u = units[i], *next = i + 1 < count ? &u + 1 : nullptr;
		if (u.kind != PLAIN) {
			if (u.kind == FRONT) {
				if (u.stride_w == 1) {
					front<1>(u, shared);
				} else {
					front<2>(u, shared);
				}
			} else {
				gather(u, shared);
			}
			__syncthreads();
		}
		if (next) {
			block.fetch(constants + next->block, next->words);
		}
		if (u.product == ROWS48_BY_32) {
			multiply<3, 4>(u, next, shared, outputs, weights);
		} else if (u.product == ROWS16_BY_32) {
			multiply<1, 4>(u, next, shared, outputs, weights);
		} else {
			multiply<1, 2>(u, next, shared, outputs, weights);
		}
		if (next) {
			block.keep(shared + next->at, next->words);
		}
		__syncthreads();
	}
}
EMULATED(chain_f16);
