// What the mixer has in common in both precisions. A launch is one block of layers for every item, or the embedding in front of them: a thread block takes
// 16 rows of an item. Across tokens the rows are channels, across channels they are tokens. The tokens of an item lie in memory between launches,
// as float32: channel c of token t is x[t * CHANNELS + c]. Two such buffers take turns, because every thread block reads what others
// write anew. Who writes a token also writes what it is normalised with across tokens: its channels' mean and 1 / sqrt(variance + epsilon).
#pragma once
#include "vector.cuh"

namespace {

const u32 POINTS = 256, TOKENS = 104, CHANNELS = 64; // the most that there is room for
const u32 ITEM = TOKENS * CHANNELS, STATS = TOKENS * 2;
const u32 ROWS = 16, PITCH = 20; // so that lanes that read neighbouring rows of neighbouring values use different banks

// Constants are read one part after the other, as mixer_pack.go writes them.
struct Constants {
	const unsigned char *next;
	template <typename T> __device__ __forceinline__ const T *take(u32 n) {
		const T *part = reinterpret_cast<const T *>(next);
		next += (n * sizeof(T) + 15) / 16 * 16;
		return part;
	}
};

// Tile is the rows of a thread block: value k of row r is x[k * PITCH + r], and normalised n[k * PITCH + r]. What is beyond the
// last value or row of n is 0.
template <u32 N> struct __align__(16) Tile {
	float x[N * PITCH], n[N * PITCH];
};

__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
	for (int bits = 16; bits; bits /= 2) {
		v += __shfl_xor_sync(0xffffffff, v, bits);
	}
	return v;
}

// Stats is what a token is normalised with, whose channels lane and lane + 32 a warp's lanes hold: 0 where there is none.
struct Stats {
	float mean, root;
	__device__ __forceinline__ Stats(const float (&v)[2], u32 channels, float epsilon) {
		u32 lane = threadIdx.x % 32;
		mean = warp_sum(v[0] + v[1]) / channels;
		float p = lane < channels ? v[0] - mean : 0, q = lane + 32 < channels ? v[1] - mean : 0;
		root = 1 / sqrtf(warp_sum(p * p + q * q) / channels + epsilon);
	}
	__device__ __forceinline__ void keep(float *stats, u32 t) const {
		if (threadIdx.x % 32 == 0) {
			*reinterpret_cast<float2 *>(stats + 2 * t) = make_float2(mean, root);
		}
	}
};

// Sums over a block of threads.
template <u32 WARPS> __device__ __forceinline__ float2 block_sum(float a, float b) {
	__shared__ float2 sums[WARPS];
	a = warp_sum(a);
	b = warp_sum(b);
	__syncthreads(); // the sums before these have been read
	if (threadIdx.x % 32 == 0) {
		sums[threadIdx.x / 32] = make_float2(a, b);
	}
	__syncthreads();
	a = b = 0;
#pragma unroll
	for (u32 w = 0; w < WARPS; w++) {
		a += sums[w].x;
		b += sums[w].y;
	}
	return make_float2(a, b);
}

const u32 EMBED_WARPS = 8, TOKEN_WARPS = 12, CHANNEL_WARPS = 8; // of a thread block

// embed makes tokens of the points, one for each warp. The points are centred and divided by their mean distance from the centre.
__device__ __forceinline__ void embed(const float2 *in, float *to, float *stats, const unsigned char *all, const unsigned char *next, u32 points, u32 tokens, u32 channels) {
	__shared__ float px[POINTS], py[POINTS];
	Constants constants = {all}, block = {next};
	float scale = __ldg(constants.take<float>(1));
	const float *expand = constants.take<float>((tokens - 1) * points), *bias = constants.take<float>(tokens - 1);
	const float *wx = constants.take<float>(CHANNELS), *wy = constants.take<float>(CHANNELS), *b = constants.take<float>(CHANNELS);
	const float *constant = constants.take<float>(CHANNELS);
	block.take<float>(CHANNELS);
	float epsilon = __ldg(block.take<float>(1));
	u32 i = threadIdx.x, lane = i % 32, t = blockIdx.x * EMBED_WARPS + i / 32;
	bool made = t > 0 && t < tokens;
	float weights[POINTS / 32];
#pragma unroll
	for (u32 k = 0; k < POINTS / 32; k++) { // on their way before there is anything to multiply
		u32 p = lane + k * 32;
		weights[k] = made && p < points ? __ldg(expand + (t - 1) * points + p) : 0;
	}
	bool real = i < points;
	float2 p = real ? in[i] : make_float2(0, 0), centre = block_sum<EMBED_WARPS>(p.x, p.y);
	p.x -= centre.x / points;
	p.y -= centre.y / points;
	float distance = block_sum<EMBED_WARPS>(real ? sqrtf(p.x * p.x + p.y * p.y) : 0, 0).x / points;
	px[i] = p.x / distance * scale;
	py[i] = p.y / distance * scale;
	__syncthreads();
	float x = 0, y = 0;
#pragma unroll
	for (u32 k = 0; k < POINTS / 32; k++) {
		x += weights[k] * px[lane + k * 32];
		y += weights[k] * py[lane + k * 32];
	}
	float shift = made ? __ldg(bias + t - 1) : 0, v[2];
	x = warp_sum(x) + shift;
	y = warp_sum(y) + shift;
#pragma unroll
	for (u32 h = 0; h < 2; h++) {
		u32 c = lane + h * 32;
		v[h] = t == 0 ? __ldg(constant + c) : __ldg(wx + c) * x + __ldg(wy + c) * y + __ldg(b + c);
	}
	Stats own(v, channels, epsilon);
	if (t < tokens) {
		to[t * CHANNELS + lane] = v[0];
		to[t * CHANNELS + lane + 32] = v[1];
		own.keep(stats, t);
	}
}

// score computes the head of the first token, which is row 0: four threads share an output.
template <u32 WARPS> __device__ __forceinline__ void score(const float *x, Constants constants, u32 channels, u32 outputs, float *y) {
	const u32 SHARE = 4, EACH = CHANNELS / SHARE, AT_ONCE = WARPS * 32 / SHARE;
	const float *w = constants.take<float>(channels * outputs), *bias = constants.take<float>(outputs);
	u32 part = threadIdx.x % SHARE;
	for (u32 first = 0; first < outputs; first += AT_ONCE) {
		u32 o = first + threadIdx.x / SHARE;
		bool real = o < outputs;
		float weights[EACH], sum = 0;
#pragma unroll
		for (u32 i = 0; i < EACH; i++) {
			u32 c = part * EACH + i;
			weights[i] = real && c < channels ? __ldg(w + c * outputs + o) : 0;
		}
#pragma unroll
		for (u32 i = 0; i < EACH; i++) {
			sum += weights[i] * x[(part * EACH + i) * PITCH];
		}
		sum += __shfl_xor_sync(0xffffffff, sum, 1);
		sum += __shfl_xor_sync(0xffffffff, sum, 2);
		if (real && part == 0) {
			y[o] = 1 / (1 + expf(-sum - bias[o]));
		}
	}
}

// Across tokens. Results beyond `results` are not wanted.
template <template <u32, u32> class MIX>
__device__ __forceinline__ void across_tokens(const float *from, const float *stats, float *to, const unsigned char *all, u32 tokens, u32 channels, u32 steps, u32 results) {
	const u32 THREADS = TOKEN_WARPS * 32, EACH = (TOKENS * ROWS + THREADS - 1) / THREADS;
	__shared__ Tile<TOKENS> tile;
	Constants constants = {all};
	const float *gamma = constants.take<float>(CHANNELS);
	constants.take<float>(1); // epsilon: in the stats
	MIX<TOKENS, TOKEN_WARPS> mix(constants, steps);
	u32 r = threadIdx.x % ROWS, c = blockIdx.x * ROWS + r;
	float x[EACH], factor = __ldg(gamma + c);
	float2 norm[EACH];
#pragma unroll
	for (u32 i = 0; i < EACH; i++) {
		u32 t = (threadIdx.x + i * THREADS) / ROWS;
		bool real = t < tokens && c < channels;
		x[i] = real ? from[t * CHANNELS + c] : 0;
		norm[i] = real ? *reinterpret_cast<const float2 *>(stats + 2 * t) : make_float2(0, 0);
	}
#pragma unroll
	for (u32 i = 0; i < EACH; i++) {
		u32 t = (threadIdx.x + i * THREADS) / ROWS;
		if (t < TOKENS) {
			tile.x[t * PITCH + r] = x[i];
			tile.n[t * PITCH + r] = (x[i] - norm[i].x) * norm[i].y * factor;
		}
	}
	__syncthreads();
	mix.add(tile, tokens, results);
	__syncthreads();
#pragma unroll
	for (u32 i = 0; i < EACH; i++) {
		u32 t = (threadIdx.x + i * THREADS) / ROWS;
		if (t < min(tokens, results) && c < channels) {
			to[t * CHANNELS + c] = tile.x[t * PITCH + r];
		}
	}
}

// Across channels. Without `to`, the scores of the first token are wanted instead.
template <template <u32, u32> class MIX>
__device__ __forceinline__ void across_channels(const float *from, float *to, float *stats, float *y, const unsigned char *all, const unsigned char *next, u32 tokens, u32 channels, u32 steps, u32 outputs) {
	const u32 EACH = ROWS / CHANNEL_WARPS;
	__shared__ Tile<CHANNELS> tile;
	Constants constants = {all};
	const float *gamma = constants.take<float>(CHANNELS);
	float epsilon = __ldg(constants.take<float>(1));
	MIX<CHANNELS, CHANNEL_WARPS> mix(constants, steps);
	u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32, first = blockIdx.x * ROWS;
	float v[EACH][2];
#pragma unroll
	for (u32 i = 0; i < EACH * 2; i++) {
		u32 t = first + warp + i / 2 * CHANNEL_WARPS, c = lane + i % 2 * 32;
		v[i / 2][i % 2] = t < tokens && c < channels ? from[t * CHANNELS + c] : 0;
	}
#pragma unroll
	for (u32 i = 0; i < EACH; i++) {
		u32 r = warp + i * CHANNEL_WARPS;
		Stats own(v[i], channels, epsilon);
#pragma unroll
		for (u32 h = 0; h < 2; h++) {
			u32 c = lane + h * 32;
			tile.x[c * PITCH + r] = v[i][h];
			tile.n[c * PITCH + r] = first + r < tokens ? (v[i][h] - own.mean) * own.root * __ldg(gamma + c) : 0; // gamma is 0 beyond the last channel
		}
	}
	__syncthreads();
	mix.add(tile, channels, CHANNELS);
	__syncthreads();
	if (!to) {
		score<CHANNEL_WARPS>(tile.x, Constants{next}, channels, outputs, y);
		return;
	}
	Constants block = {next};
	block.take<float>(CHANNELS);
	epsilon = __ldg(block.take<float>(1));
#pragma unroll
	for (u32 i = 0; i < EACH; i++) {
		u32 r = warp + i * CHANNEL_WARPS, t = first + r;
#pragma unroll
		for (u32 h = 0; h < 2; h++) {
			u32 c = lane + h * 32;
			v[i][h] = c < channels ? tile.x[c * PITCH + r] : 0;
			if (t < tokens && c < channels) {
				to[t * CHANNELS + c] = v[i][h];
			}
		}
		Stats own(v[i], channels, epsilon);
		if (t < tokens) {
			own.keep(stats, t);
		}
	}
}

} // namespace

#define MIXER(PRECISION)                                                                                                                               \
	extern "C" __global__ void __launch_bounds__(384, 1)                                                                                               \
		mixer_tokens_##PRECISION(u64 from, u64 stats, u64 to, u64 all, u32 tokens, u32 channels, u32 steps, u32 results) {                             \
		across_tokens<Mix>(at<const float>(from) + blockIdx.y * ITEM, at<const float>(stats) + blockIdx.y * STATS, at<float>(to) + blockIdx.y * ITEM,  \
		                   at<const unsigned char>(all), tokens, channels, steps, results);                                                            \
	}                                                                                                                                                  \
	extern "C" __global__ void __launch_bounds__(256, 2) mixer_channels_##PRECISION(u64 from, u64 to, u64 stats, u64 y, u64 all, u64 next, u32 tokens, \
	                                                                               u32 channels, u32 steps, u32 outputs) {                            \
		across_channels<Mix>(at<const float>(from) + blockIdx.y * ITEM, to ? at<float>(to) + blockIdx.y * ITEM : nullptr,                              \
		                     at<float>(stats) + blockIdx.y * STATS, at<float>(y) + blockIdx.y * outputs, at<const unsigned char>(all),                 \
		                     at<const unsigned char>(next), tokens, channels, steps, outputs);                                                         \
	}
