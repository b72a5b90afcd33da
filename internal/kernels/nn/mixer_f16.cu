// scores = mixer(points), matrix products by tensor cores
#include "mixer.cuh"

namespace {

__device__ __forceinline__ u32 halves(float a, float b) {
	const float v[2] = {a, b};
	return rounded<__half>(v).parts[0];
}

// x += out(relu(in(n))). Every warp takes all rows and some steps of 32 hidden values, from which it makes its part of all results: hidden values
// never leave its registers, because a product's sums are laid out as the left side of the next product.
struct Mix {
	template <u32 N, u32 WARPS> __device__ __forceinline__ void operator()(Tile<N, WARPS> &tile, Constants &constants, u32, u32 steps, u32 results) {
		const u32 TILES = N / 8;
		const float2 *hiddenBias = constants.take<float2>(steps * 16), *bias = constants.take<float2>(N / 2);
		const uint4 *in = constants.take<uint4>(steps * TILES * 32), *out = constants.take<uint4>(steps * TILES * 32);
		u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = lane / 4, pair = lane % 4 * 2;
		u32 a[TILES][2];
#pragma unroll
		for (u32 k = 0; k < TILES; k++) {
			const float *n = tile.n + (k * 8 + pair) * PITCH + row;
			a[k][0] = halves(n[0], n[PITCH]);
			a[k][1] = halves(n[8], n[PITCH + 8]);
		}
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
			const uint4 *w = in + step * TILES * 32 + lane;
#pragma unroll
			for (u32 k = 0; k < TILES; k++) {
				uint4 four = __ldg(w + k * 32);
				mma_16x8x8(h[0], a[k][0], a[k][1], four.x);
				mma_16x8x8(h[1], a[k][0], a[k][1], four.y);
				mma_16x8x8(h[2], a[k][0], a[k][1], four.z);
				mma_16x8x8(h[3], a[k][0], a[k][1], four.w);
			}
			u32 hidden[4][2];
#pragma unroll
			for (int j = 0; j < 4; j++) {
				hidden[j][0] = halves(h[j][0] < 0 ? 0 : h[j][0], h[j][1] < 0 ? 0 : h[j][1]);
				hidden[j][1] = halves(h[j][2] < 0 ? 0 : h[j][2], h[j][3] < 0 ? 0 : h[j][3]);
			}
			w = out + step * TILES * 32 + lane;
#pragma unroll
			for (u32 m = 0; m < TILES; m++) {
				if (m * 8 < results) {
					uint4 four = __ldg(w + m * 32);
					mma_16x8x8(d[m], hidden[0][0], hidden[0][1], four.x);
					mma_16x8x8(d[m], hidden[1][0], hidden[1][1], four.y);
					mma_16x8x8(d[m], hidden[2][0], hidden[2][1], four.z);
					mma_16x8x8(d[m], hidden[3][0], hidden[3][1], four.w);
				}
			}
		}
		// The warps' parts are added in rounds, in which each has other results than the others.
		for (u32 round = 0; round < WARPS; round++) {
			__syncthreads();
#pragma unroll
			for (u32 m = 0; m < TILES; m++) {
				if (m * 8 < results && (m + warp) % WARPS == round) {
					float *x = tile.x + (m * 8 + pair) * PITCH + row;
					x[0] += d[m][0];
					x[PITCH] += d[m][1];
					x[8] += d[m][2];
					x[PITCH + 8] += d[m][3];
				}
			}
		}
	}
};

} // namespace

extern "C" __global__ void __launch_bounds__(384, 1) mixer_tokens_f16(u64 x, u64 start, u64 from, u64 to, u64 all, u32 points, u32 tokens, u32 channels, u32 steps, u32 results) {
	across_tokens(Mix(), x, start, from, to, all, points, tokens, channels, steps, results);
}
EMULATED(mixer_tokens_f16);

extern "C" __global__ void __launch_bounds__(256, 2) mixer_channels_f16(u64 from, u64 to, u64 y, u64 all, u64 head, u32 tokens, u32 channels, u32 steps, u32 outputs) {
	across_channels(Mix(), from, to, y, all, head, tokens, channels, steps, outputs);
}
EMULATED(mixer_channels_f16);
