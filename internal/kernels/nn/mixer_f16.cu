// scores = mixer(points), matrix products by tensor cores
#include "mixer.cuh"

namespace {

const u32 PITCH = 68; // so that lanes that read neighbouring tokens of neighbouring channels use different banks

__device__ __forceinline__ u32 halves(float a, float b) {
	const float v[2] = {a, b};
	return rounded<__half>(v).parts[0];
}

// x += out(relu(in(n))), n of N values. TURNED: across tokens, where the rows are the channels; else across channels, where the rows are the tokens.
// A warp takes 32 rows, and every `split`-th step of 32 hidden values, from which it makes its part of all results: hidden values never leave
// its registers, because a product's sums are laid out as the left side of the next product.
template <bool TURNED, u32 N> __device__ __forceinline__ void block(Item<PITCH> &item, const Sizes &s, Constants &constants, u32 steps, u32 split, u32 results) {
	const u32 TILES = N / 8;
	const float *gamma = constants.take<float>(CHANNELS);
	float epsilon = *constants.take<float>(1);
	const float2 *hiddenBias = constants.take<float2>(steps * 16), *bias = constants.take<float2>(N / 2);
	const uint4 *in = constants.take<uint4>(steps * TILES * 32), *out = constants.take<uint4>(steps * TILES * 32);
	measure(item, s, gamma, epsilon);

	u32 lane = threadIdx.x % 32, part = threadIdx.x / 32 % split, row = threadIdx.x / 32 / split * 32 + lane / 4, pair = lane % 4 * 2;
	u32 rows = TURNED ? s.channels : s.tokens;
	u32 a[2][TILES][2];
#pragma unroll
	for (u32 k = 0; k < TILES; k++) {
#pragma unroll
		for (int i = 0; i < 4; i++) {
			u32 r = row + i * 8, c = k * 8 + pair;
			bool real = r < rows;
			a[i / 2][k][i % 2] = !real ? 0 : TURNED ? halves(item.n(c, r), item.n(c + 1, r)) : halves(item.n(r, c), item.n(r, c + 1));
		}
	}
	float d[2][TILES][4];
#pragma unroll
	for (u32 m = 0; m < TILES; m++) {
		float2 b = part == 0 ? __ldg(bias + (m * 8 + pair) / 2) : make_float2(0, 0);
#pragma unroll
		for (int i = 0; i < 8; i++) {
			d[i / 4][m][i % 4] = i % 2 ? b.y : b.x;
		}
	}
	for (u32 step = part; step < steps; step += split) {
		float h[2][4][4];
#pragma unroll
		for (int j = 0; j < 4; j++) {
			float2 b = __ldg(hiddenBias + (step * 32 + j * 8 + pair) / 2);
#pragma unroll
			for (int i = 0; i < 8; i++) {
				h[i / 4][j][i % 4] = i % 2 ? b.y : b.x;
			}
		}
		const uint4 *w = in + step * TILES * 32 + lane;
#pragma unroll
		for (u32 k = 0; k < TILES; k++) {
			uint4 four = __ldg(w + k * 32);
#pragma unroll
			for (int i = 0; i < 2; i++) {
				mma_16x8x8(h[i][0], a[i][k][0], a[i][k][1], four.x);
				mma_16x8x8(h[i][1], a[i][k][0], a[i][k][1], four.y);
				mma_16x8x8(h[i][2], a[i][k][0], a[i][k][1], four.z);
				mma_16x8x8(h[i][3], a[i][k][0], a[i][k][1], four.w);
			}
		}
		u32 hidden[2][4][2];
#pragma unroll
		for (int i = 0; i < 16; i++) {
			const float *sums = h[i / 8][i / 2 % 4] + i % 2 * 2;
			hidden[i / 8][i / 2 % 4][i % 2] = halves(sums[0] < 0 ? 0 : sums[0], sums[1] < 0 ? 0 : sums[1]);
		}
		w = out + step * TILES * 32 + lane;
#pragma unroll
		for (u32 m = 0; m < TILES; m++) {
			if (m * 8 < results) {
				uint4 four = __ldg(w + m * 32);
#pragma unroll
				for (int i = 0; i < 2; i++) {
					mma_16x8x8(d[i][m], hidden[i][0][0], hidden[i][0][1], four.x);
					mma_16x8x8(d[i][m], hidden[i][1][0], hidden[i][1][1], four.y);
					mma_16x8x8(d[i][m], hidden[i][2][0], hidden[i][2][1], four.z);
					mma_16x8x8(d[i][m], hidden[i][3][0], hidden[i][3][1], four.w);
				}
			}
		}
	}
	// The parts are added in rounds, in which each warp has other results than its neighbours.
	for (u32 round = 0; round < split; round++) {
		__syncthreads();
#pragma unroll
		for (u32 m = 0; m < TILES; m++) {
			if (m * 8 < results && (m + part) % split == round) {
#pragma unroll
				for (int i = 0; i < 8; i++) {
					u32 r = row + i / 2 * 8, c = m * 8 + pair + i % 2;
					if (r < rows) {
						item.x[TURNED ? c * PITCH + r : r * PITCH + c] += d[i / 4][m][i % 4];
					}
				}
			}
		}
	}
}

} // namespace

// Of the last layer only the first token counts: its block across channels has one warp's rows, which all warps share.
extern "C" __global__ void __launch_bounds__(256, 1) mixer_f16(u64 x, u64 y, u64 all, u32 points, u32 tokens, u32 channels, u32 tokenSteps, u32 channelSteps, u32 layers, u32 outputs) {
	__shared__ Item<PITCH> item;
	Sizes s = {points, tokens, channels, tokenSteps, channelSteps, layers, outputs};
	Constants constants = {at<const unsigned char>(all)};
	normalise_points(item, s, at<const float2>(x) + blockIdx.x * points, *constants.take<float>(1));
	embed(item, s, constants);
	for (u32 layer = 0; layer < layers; layer++) {
		bool last = layer + 1 == layers;
		block<true, TOKENS>(item, s, constants, tokenSteps, 4, last ? 8 : TOKENS);
		block<false, CHANNELS>(item, s, constants, channelSteps, last ? 8 : 2, CHANNELS);
	}
	score(item, s, constants, at<float>(y) + blockIdx.x * outputs);
}
EMULATED(mixer_f16);
