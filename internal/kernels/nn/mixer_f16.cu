// scores = mixer(points), matrix products by tensor cores
#include "mixer.cuh"

namespace {

__device__ __forceinline__ u32 halves(float a, float b) {
	const float v[2] = {a, b};
	return rounded<__half>(v).parts[0];
}

// x += out(relu(in(n))). Every warp takes all rows and some steps of 32 hidden values, from which it makes its part of all results: hidden values
// never leave its registers, because a product's sums are laid out as the left side of the next product. The weights of the first step are on
// their way before there is anything to multiply.
template <u32 N, u32 WARPS> struct Mix {
	static const u32 TILES = N / 8;
	const float2 *hiddenBias, *bias;
	const uint4 *in, *out;
	u32 steps;
	uint4 w[TILES];

	__device__ __forceinline__ Mix(Constants &constants, u32 steps) : steps(steps) {
		hiddenBias = constants.take<float2>(steps * 16), bias = constants.take<float2>(N / 2);
		in = constants.take<uint4>(steps * TILES * 32), out = constants.take<uint4>(steps * TILES * 32);
		fetch(in, threadIdx.x / 32);
	}

	__device__ __forceinline__ void fetch(const uint4 *from, u32 step) {
#pragma unroll
		for (u32 k = 0; k < TILES; k++) {
			w[k] = step < steps ? __ldg(from + (step * TILES + k) * 32 + threadIdx.x % 32) : make_uint4(0, 0, 0, 0);
		}
	}

	__device__ __forceinline__ void add(Tile<N> &tile, u32, u32 results) {
		u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = lane / 4, pair = lane % 4 * 2;
		float d[TILES][4];
#pragma unroll
		for (u32 m = 0; m < TILES; m++) {
			float2 b = warp == 0 ? __ldg(bias + (m * 8 + pair) / 2) : make_float2(0, 0);
			d[m][0] = d[m][2] = b.x;
			d[m][1] = d[m][3] = b.y;
		}
		for (u32 step = warp; step < steps; step += WARPS) {
			float h[4][4];
#pragma unroll
			for (int j = 0; j < 4; j++) {
				float2 b = __ldg(hiddenBias + (step * 32 + j * 8 + pair) / 2);
				h[j][0] = h[j][2] = b.x;
				h[j][1] = h[j][3] = b.y;
			}
#pragma unroll
			for (u32 k = 0; k < TILES; k++) {
				const float *n = tile.n + (k * 8 + pair) * PITCH + row;
				u32 a0 = halves(n[0], n[PITCH]), a1 = halves(n[8], n[PITCH + 8]);
				mma_16x8x8(h[0], a0, a1, w[k].x);
				mma_16x8x8(h[1], a0, a1, w[k].y);
				mma_16x8x8(h[2], a0, a1, w[k].z);
				mma_16x8x8(h[3], a0, a1, w[k].w);
				w[k] = __ldg(out + (step * TILES + k) * 32 + lane);
			}
			u32 hidden[4][2];
#pragma unroll
			for (int j = 0; j < 4; j++) {
				hidden[j][0] = halves(h[j][0] < 0 ? 0 : h[j][0], h[j][1] < 0 ? 0 : h[j][1]);
				hidden[j][1] = halves(h[j][2] < 0 ? 0 : h[j][2], h[j][3] < 0 ? 0 : h[j][3]);
			}
#pragma unroll
			for (u32 m = 0; m < TILES; m++) {
				if (m * 8 < results) {
					mma_16x8x8(d[m], hidden[0][0], hidden[0][1], w[m].x);
					mma_16x8x8(d[m], hidden[1][0], hidden[1][1], w[m].y);
					mma_16x8x8(d[m], hidden[2][0], hidden[2][1], w[m].z);
					mma_16x8x8(d[m], hidden[3][0], hidden[3][1], w[m].w);
				}
			}
			if (step + WARPS < steps) {
				fetch(in, step + WARPS);
			}
		}
		gather(tile, d, results, row, pair, warp);
	}

	// gather adds up what the warps have: in each round a few of them, each into a place of its own.
	__device__ __forceinline__ void gather(Tile<N> &tile, const float (&d)[TILES][4], u32 results, u32 row, u32 pair, u32 warp) {
		const u32 PARTS = 4;
		__shared__ float parts[PARTS - 1][N * PITCH];
		float *part = warp % PARTS == 0 ? tile.x : parts[warp % PARTS - 1];
#pragma unroll
		for (u32 round = 0; round < WARPS / PARTS; round++) {
			if (warp / PARTS == round) {
				bool first = round == 0 && warp % PARTS != 0;
#pragma unroll
				for (u32 m = 0; m < TILES; m++) {
					if (m * 8 < results) {
						float *x = part + (m * 8 + pair) * PITCH + row;
						x[0] = d[m][0] + (first ? 0 : x[0]);
						x[PITCH] = d[m][1] + (first ? 0 : x[PITCH]);
						x[8] = d[m][2] + (first ? 0 : x[8]);
						x[PITCH + 8] = d[m][3] + (first ? 0 : x[PITCH + 8]);
					}
				}
			}
			__syncthreads();
		}
		for (u32 i = threadIdx.x; i < min(results, N) * ROWS; i += WARPS * 32) {
			u32 at = i / ROWS * PITCH + i % ROWS;
			float sum = tile.x[at];
#pragma unroll
			for (u32 p = 0; p + 1 < PARTS; p++) {
				sum += parts[p][at];
			}
			tile.x[at] = sum;
		}
	}
};

} // namespace

extern "C" __global__ void __launch_bounds__(256) mixer_embed(u64 x, u64 to, u64 stats, u64 all, u64 next, u32 points, u32 tokens, u32 channels) {
	embed(at<const float2>(x) + blockIdx.y * points, at<float>(to) + blockIdx.y * ITEM, at<float>(stats) + blockIdx.y * STATS,
	      at<const unsigned char>(all), at<const unsigned char>(next), points, tokens, channels);
}
EMULATED(mixer_embed);

MIXER(f16)
EMULATED(mixer_tokens_f16);
EMULATED(mixer_channels_f16);
