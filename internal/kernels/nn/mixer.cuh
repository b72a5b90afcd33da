// What the mixer has in common in both precisions: a block of threads computes one item, whose tokens stay in shared memory as float32.
#pragma once
#include "vector.cuh"

namespace {

const u32 THREADS = 256, WARPS = THREADS / 32, POINTS = 256, TOKENS = 104, CHANNELS = 64; // the most that there is room for

// Sizes of a launch.
struct Sizes {
	u32 points, tokens, channels, tokenSteps, channelSteps, layers, outputs; // a step is 32 hidden values
};

// Constants are read one part after the other, as mixer_pack.go writes them.
struct Constants {
	const unsigned char *next;
	template <typename T> __device__ __forceinline__ const T *take(u32 n) {
		const T *part = reinterpret_cast<const T *>(next);
		next += (n * sizeof(T) + 15) / 16 * 16;
		return part;
	}
};

// Item is the tokens of one item: channel c of token t is x[t * PITCH + c]. What is beyond the last token or channel is 0 or does not count.
template <u32 PITCH> struct Item {
	float x[TOKENS * PITCH];
	float mean[TOKENS], root[TOKENS]; // of a normalisation: 1 / sqrt(variance + epsilon)
	float gamma[CHANNELS];
	float sums[WARPS][2], points[2][POINTS];

	// n is the value of token t, channel c, normalised.
	__device__ __forceinline__ float n(u32 t, u32 c) const { return (x[t * PITCH + c] - mean[t]) * root[t] * gamma[c]; }
};

__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
	for (int bits = 16; bits; bits /= 2) {
		v += __shfl_xor_sync(0xffffffff, v, bits);
	}
	return v;
}

// Sums over a block of threads.
template <u32 PITCH> __device__ __forceinline__ float2 block_sum(Item<PITCH> &item, float a, float b) {
	u32 warp = threadIdx.x / 32;
	a = warp_sum(a);
	b = warp_sum(b);
	__syncthreads(); // the sums before these have been read
	if (threadIdx.x % 32 == 0) {
		item.sums[warp][0] = a;
		item.sums[warp][1] = b;
	}
	__syncthreads();
	a = b = 0;
	for (u32 w = 0; w < WARPS; w++) {
		a += item.sums[w][0];
		b += item.sums[w][1];
	}
	return make_float2(a, b);
}

// normalise_points centres the points and divides them by their mean distance from the centre.
template <u32 PITCH> __device__ __forceinline__ void normalise_points(Item<PITCH> &item, const Sizes &s, const float2 *in, float scale) {
	u32 i = threadIdx.x;
	bool real = i < s.points;
	float2 p = real ? in[i] : make_float2(0, 0), centre = block_sum(item, p.x, p.y);
	p.x -= centre.x / s.points;
	p.y -= centre.y / s.points;
	float distance = block_sum(item, real ? sqrtf(p.x * p.x + p.y * p.y) : 0, 0).x / s.points;
	item.points[0][i] = p.x / distance * scale;
	item.points[1][i] = p.y / distance * scale;
	__syncthreads();
}

// embed makes tokens of the points: each warp expands some tokens at once, then embeds them in channels.
template <u32 PITCH> __device__ __forceinline__ void embed(Item<PITCH> &item, const Sizes &s, Constants &constants) {
	const int EACH = TOKENS / WARPS;
	const float *expand = constants.take<float>((s.tokens - 1) * s.points), *bias = constants.take<float>(s.tokens - 1);
	const float *wx = constants.take<float>(CHANNELS), *wy = constants.take<float>(CHANNELS), *b = constants.take<float>(CHANNELS);
	const float *constant = constants.take<float>(CHANNELS);
	u32 first = threadIdx.x / 32 * EACH, lane = threadIdx.x % 32;
	float sx[EACH] = {}, sy[EACH] = {};
	for (u32 p = lane; p < s.points; p += 32) {
		float x = item.points[0][p], y = item.points[1][p];
#pragma unroll
		for (int i = 0; i < EACH; i++) {
			u32 t = first + i;
			float w = t > 0 && t < s.tokens ? __ldg(expand + (t - 1) * s.points + p) : 0;
			sx[i] += w * x;
			sy[i] += w * y;
		}
	}
#pragma unroll
	for (int i = 0; i < EACH; i++) {
		u32 t = first + i;
		float x = warp_sum(sx[i]), y = warp_sum(sy[i]), shift = t > 0 && t < s.tokens ? bias[t - 1] : 0;
		for (u32 c = lane; c < CHANNELS; c += 32) {
			float v = wx[c] * (x + shift) + wy[c] * (y + shift) + b[c];
			item.x[t * PITCH + c] = t == 0 ? constant[c] : t < s.tokens ? v : 0;
		}
	}
}

// measure finds mean and root of every token. It waits for all writes before, and for itself.
template <u32 PITCH> __device__ __forceinline__ void measure(Item<PITCH> &item, const Sizes &s, const float *gamma, float epsilon) {
	const int EACH = TOKENS / WARPS;
	u32 first = threadIdx.x / 32 * EACH, lane = threadIdx.x % 32;
	float v[EACH][2], sum[EACH];
	if (threadIdx.x < CHANNELS) {
		item.gamma[threadIdx.x] = gamma[threadIdx.x];
	}
	__syncthreads();
#pragma unroll
	for (int i = 0; i < EACH; i++) {
		v[i][0] = item.x[(first + i) * PITCH + lane];
		v[i][1] = item.x[(first + i) * PITCH + lane + 32];
		sum[i] = v[i][0] + v[i][1]; // nothing is 0
	}
#pragma unroll
	for (int bits = 16; bits; bits /= 2) {
#pragma unroll
		for (int i = 0; i < EACH; i++) {
			sum[i] += __shfl_xor_sync(0xffffffff, sum[i], bits);
		}
	}
#pragma unroll
	for (int i = 0; i < EACH; i++) {
		float mean = sum[i] / s.channels;
		item.mean[first + i] = mean;
		float p = lane < s.channels ? v[i][0] - mean : 0, q = lane + 32 < s.channels ? v[i][1] - mean : 0;
		sum[i] = p * p + q * q;
	}
#pragma unroll
	for (int bits = 16; bits; bits /= 2) {
#pragma unroll
		for (int i = 0; i < EACH; i++) {
			sum[i] += __shfl_xor_sync(0xffffffff, sum[i], bits);
		}
	}
#pragma unroll
	for (int i = 0; i < EACH; i++) {
		item.root[first + i] = first + i < s.tokens ? 1 / sqrtf(sum[i] / s.channels + epsilon) : 0;
	}
	__syncthreads();
}

// score computes the head of the first token.
template <u32 PITCH> __device__ __forceinline__ void score(const Item<PITCH> &item, const Sizes &s, Constants &constants, float *y) {
	const float *w = constants.take<float>(s.channels * s.outputs), *bias = constants.take<float>(s.outputs);
	__syncthreads();
	for (u32 o = threadIdx.x; o < s.outputs; o += THREADS) {
		float sum = bias[o];
		for (u32 c = 0; c < s.channels; c++) {
			sum += __ldg(w + c * s.outputs + o) * item.x[c];
		}
		y[o] = 1 / (1 + expf(-sum));
	}
}

} // namespace
