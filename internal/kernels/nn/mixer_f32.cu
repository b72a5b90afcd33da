// scores = mixer(points), in float32 throughout
#include "mixer.cuh"

namespace {

const u32 PITCH = 65; // so that neighbouring tokens of a channel lie in different banks
const u32 STEP = 32, ROWS = 128;

__device__ __forceinline__ void add(float4 &sum, float v, float4 w) {
	sum.x += v * w.x;
	sum.y += v * w.y;
	sum.z += v * w.z;
	sum.w += v * w.w;
}

// x += out(relu(in(n))), n of N values, as in mixer_f16.cu. A thread has one row, of which it computes a part of each step's hidden values and
// a part of all results; as many warps as there are rows share the rows, and LANES threads side by side are rows.
template <bool TURNED, u32 N, u32 LANES> __device__ __forceinline__ void block(Item<PITCH> &item, float (&hidden)[STEP][ROWS], const Sizes &s, Constants &constants, u32 steps) {
	const u32 PARTS = THREADS / LANES, RESULTS = (N + 15) / 16 * 16 / PARTS, HIDDEN = STEP / PARTS;
	const float *gamma = constants.take<float>(CHANNELS);
	float epsilon = *constants.take<float>(1);
	const float4 *hiddenBias = constants.take<float4>(steps * STEP / 4), *bias = constants.take<float4>(RESULTS * PARTS / 4);
	const float4 *in = constants.take<float4>(N * steps * STEP / 4), *out = constants.take<float4>(steps * STEP * RESULTS * PARTS / 4);
	measure(item, s, gamma, epsilon);

	u32 row = threadIdx.x % LANES, part = threadIdx.x / LANES, count = TURNED ? s.tokens : s.channels;
	bool real = row < (TURNED ? s.channels : s.tokens);
	u32 safe = real ? row : 0;
	float4 d[RESULTS / 4];
#pragma unroll
	for (u32 m = 0; m < RESULTS / 4; m++) {
		d[m] = __ldg(bias + part * (RESULTS / 4) + m);
	}
	for (u32 step = 0; step < steps; step++) {
		float4 h[HIDDEN / 4];
#pragma unroll
		for (u32 j = 0; j < HIDDEN / 4; j++) {
			h[j] = __ldg(hiddenBias + (step * STEP + part * HIDDEN) / 4 + j);
		}
		const float4 *w = in + (step * STEP + part * HIDDEN) / 4;
		for (u32 k = 0; k < count; k++, w += steps * STEP / 4) {
			float v = TURNED ? item.n(k, safe) : item.n(safe, k);
#pragma unroll
			for (u32 j = 0; j < HIDDEN / 4; j++) {
				add(h[j], v, __ldg(w + j));
			}
		}
		__syncthreads(); // the hidden values of the step before have been read
#pragma unroll
		for (u32 j = 0; j < HIDDEN / 4; j++) {
			const float sums[4] = {h[j].x, h[j].y, h[j].z, h[j].w};
#pragma unroll
			for (int i = 0; i < 4; i++) {
				hidden[part * HIDDEN + j * 4 + i][row] = sums[i] < 0 ? 0 : sums[i];
			}
		}
		__syncthreads();
		w = out + (step * STEP * PARTS + part) * (RESULTS / 4);
		for (u32 k = 0; k < STEP; k++, w += PARTS * (RESULTS / 4)) {
			float v = hidden[k][row];
#pragma unroll
			for (u32 m = 0; m < RESULTS / 4; m++) {
				add(d[m], v, __ldg(w + m));
			}
		}
	}
#pragma unroll // all have read their values of x before the last barrier
	for (u32 m = 0; m < RESULTS / 4; m++) {
		const float sums[4] = {d[m].x, d[m].y, d[m].z, d[m].w};
#pragma unroll
		for (int i = 0; i < 4; i++) {
			u32 c = part * RESULTS + m * 4 + i;
			if (real && c < count) {
				item.x[TURNED ? c * PITCH + row : row * PITCH + c] += sums[i];
			}
		}
	}
}

} // namespace

extern "C" __global__ void __launch_bounds__(256, 1) mixer_f32(u64 x, u64 y, u64 all, u32 points, u32 tokens, u32 channels, u32 tokenSteps, u32 channelSteps, u32 layers, u32 outputs) {
	__shared__ Item<PITCH> item;
	__shared__ float hidden[STEP][ROWS];
	Sizes s = {points, tokens, channels, tokenSteps, channelSteps, layers, outputs};
	Constants constants = {at<const unsigned char>(all)};
	normalise_points(item, s, at<const float2>(x) + blockIdx.x * points, *constants.take<float>(1));
	embed(item, s, constants);
	for (u32 layer = 0; layer < layers; layer++) {
		block<true, TOKENS, CHANNELS>(item, hidden, s, constants, tokenSteps);
		block<false, CHANNELS, ROWS>(item, hidden, s, constants, channelSteps);
	}
	score(item, s, constants, at<float>(y) + blockIdx.x * outputs);
}
EMULATED(mixer_f32);
