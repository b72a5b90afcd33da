// What the mixer has in common in both precisions. A launch is one block of layers for every item: a thread block takes 16 rows of it. Across
// tokens the rows are channels, across channels they are tokens. The tokens of an item lie in memory between launches, as float32:
// channel c of token t is from[t * CHANNELS + c]; two such buffers take turns, because every thread block reads what others write anew.
#pragma once
#include "vector.cuh"

namespace {

const u32 POINTS = 256, TOKENS = 104, CHANNELS = 64; // the most that there is room for
const u32 ROWS = 16, PITCH = 20;                     // so that lanes that read neighbouring rows of neighbouring values use different banks

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
template <u32 N, u32 WARPS> struct __align__(16) Tile {
	float x[N * PITCH], n[N * PITCH];
	float sums[WARPS][2], points[2][POINTS];
};

// Norm is how a block of layers normalises its tokens, for the channels lane and lane + 32. Beyond the last channel gamma is 0.
struct Norm {
	float gamma[2], epsilon;
	__device__ __forceinline__ explicit Norm(Constants &constants) {
		const float *all = constants.take<float>(CHANNELS);
		gamma[0] = __ldg(all + threadIdx.x % 32);
		gamma[1] = __ldg(all + threadIdx.x % 32 + 32);
		epsilon = __ldg(constants.take<float>(1));
	}
};

__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
	for (int bits = 16; bits; bits /= 2) {
		v += __shfl_xor_sync(0xffffffff, v, bits);
	}
	return v;
}

// Sums over a block of threads.
template <u32 N, u32 WARPS> __device__ __forceinline__ float2 block_sum(Tile<N, WARPS> &tile, float a, float b) {
	u32 warp = threadIdx.x / 32;
	a = warp_sum(a);
	b = warp_sum(b);
	__syncthreads(); // the sums before these have been read
	if (threadIdx.x % 32 == 0) {
		tile.sums[warp][0] = a;
		tile.sums[warp][1] = b;
	}
	__syncthreads();
	a = b = 0;
	for (u32 w = 0; w < WARPS; w++) {
		a += tile.sums[w][0];
		b += tile.sums[w][1];
	}
	return make_float2(a, b);
}

// normalise_points centres the points and divides them by their mean distance from the centre.
template <u32 N, u32 WARPS> __device__ __forceinline__ void normalise_points(Tile<N, WARPS> &tile, const float2 *in, u32 points, float scale) {
	u32 i = threadIdx.x;
	bool real = i < points;
	float2 p = real ? in[i] : make_float2(0, 0), centre = block_sum(tile, p.x, p.y);
	p.x -= centre.x / points;
	p.y -= centre.y / points;
	float distance = block_sum(tile, real ? sqrtf(p.x * p.x + p.y * p.y) : 0, 0).x / points;
	if (i < POINTS) {
		tile.points[0][i] = p.x / distance * scale;
		tile.points[1][i] = p.y / distance * scale;
	}
	__syncthreads();
}

// embed makes tokens of the points: token warp + i * WARPS in v[i], channels lane and lane + 32.
template <u32 EACH, u32 N, u32 WARPS> __device__ __forceinline__ void embed(Tile<N, WARPS> &tile, Constants constants, const float2 *in, u32 points, u32 tokens, float (&v)[EACH][2]) {
	normalise_points(tile, in, points, *constants.take<float>(1));
	const float *expand = constants.take<float>((tokens - 1) * points), *bias = constants.take<float>(tokens - 1);
	const float *wx = constants.take<float>(CHANNELS), *wy = constants.take<float>(CHANNELS), *b = constants.take<float>(CHANNELS);
	const float *constant = constants.take<float>(CHANNELS);
	u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
	float sx[EACH] = {}, sy[EACH] = {};
	for (u32 p = lane; p < points; p += 32) {
		float x = tile.points[0][p], y = tile.points[1][p];
#pragma unroll
		for (u32 i = 0; i < EACH; i++) {
			u32 t = warp + i * WARPS;
			float w = t > 0 && t < tokens ? __ldg(expand + (t - 1) * points + p) : 0;
			sx[i] += w * x;
			sy[i] += w * y;
		}
	}
#pragma unroll
	for (u32 i = 0; i < EACH; i++) {
		u32 t = warp + i * WARPS;
		float x = warp_sum(sx[i]), y = warp_sum(sy[i]), shift = t > 0 && t < tokens ? bias[t - 1] : 0;
#pragma unroll
		for (u32 h = 0; h < 2; h++) {
			u32 c = lane + h * 32;
			v[i][h] = t == 0 ? constant[c] : t < tokens ? wx[c] * (x + shift) + wy[c] * (y + shift) + b[c] : 0;
		}
	}
}

// fetch reads tokens from memory: token first + warp + i * WARPS in v[i].
template <u32 WARPS, u32 EACH> __device__ __forceinline__ void fetch(const float *from, u32 first, u32 tokens, u32 channels, float (&v)[EACH][2]) {
	u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
	for (u32 i = 0; i < EACH; i++) {
		u32 t = first + warp + i * WARPS;
#pragma unroll
		for (u32 h = 0; h < 2; h++) {
			u32 c = lane + h * 32;
			v[i][h] = t < tokens && c < channels ? from[t * CHANNELS + c] : 0;
		}
	}
}

// fill normalises tokens over their channels and puts them into the tile, or those of their channels that are rows of it.
template <bool TURNED, u32 EACH, u32 N, u32 WARPS> __device__ __forceinline__ void fill(Tile<N, WARPS> &tile, const Norm &norm, u32 row, u32 tokens, u32 channels, const float (&v)[EACH][2]) {
	u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
	float sum[EACH], mean[EACH];
#pragma unroll
	for (u32 i = 0; i < EACH; i++) {
		sum[i] = v[i][0] + v[i][1]; // nothing is 0
	}
#pragma unroll
	for (int bits = 16; bits; bits /= 2) {
#pragma unroll
		for (u32 i = 0; i < EACH; i++) {
			sum[i] += __shfl_xor_sync(0xffffffff, sum[i], bits);
		}
	}
#pragma unroll
	for (u32 i = 0; i < EACH; i++) {
		mean[i] = sum[i] / channels;
		float p = lane < channels ? v[i][0] - mean[i] : 0, q = lane + 32 < channels ? v[i][1] - mean[i] : 0;
		sum[i] = p * p + q * q;
	}
#pragma unroll
	for (int bits = 16; bits; bits /= 2) {
#pragma unroll
		for (u32 i = 0; i < EACH; i++) {
			sum[i] += __shfl_xor_sync(0xffffffff, sum[i], bits);
		}
	}
#pragma unroll
	for (u32 i = 0; i < EACH; i++) {
		u32 t = warp + i * WARPS;
		float root = 1 / sqrtf(sum[i] / channels + norm.epsilon);
#pragma unroll
		for (u32 h = 0; h < 2; h++) {
			u32 c = lane + h * 32;
			float n = (TURNED ? t : row + t) < tokens ? (v[i][h] - mean[i]) * root * norm.gamma[h] : 0;
			if (TURNED ? t < N && c >= row && c < row + ROWS : t < ROWS) {
				u32 at = TURNED ? t * PITCH + c - row : c * PITCH + t;
				tile.x[at] = v[i][h];
				tile.n[at] = n;
			}
		}
	}
	__syncthreads();
}

// keep writes the tile to memory. It waits for all that was added to it.
template <bool TURNED, u32 N, u32 WARPS> __device__ __forceinline__ void keep(const Tile<N, WARPS> &tile, float *to, u32 row, u32 tokens, u32 channels) {
	__syncthreads();
	for (u32 i = threadIdx.x; i < N * ROWS; i += WARPS * 32) {
		u32 k = TURNED ? i / ROWS : i % N, r = TURNED ? i % ROWS : i / N;
		u32 t = TURNED ? k : row + r, c = TURNED ? row + r : k;
		if (t < tokens && c < channels) {
			to[t * CHANNELS + c] = tile.x[k * PITCH + r];
		}
	}
}

// score computes the head of the first token, which is row 0: four threads share an output.
template <u32 N, u32 WARPS> __device__ __forceinline__ void score(const Tile<N, WARPS> &tile, Constants constants, u32 channels, u32 outputs, float *y) {
	const u32 SHARE = 4, EACH = CHANNELS / SHARE, AT_ONCE = WARPS * 32 / SHARE;
	const float *w = constants.take<float>(channels * outputs), *bias = constants.take<float>(outputs);
	u32 part = threadIdx.x % SHARE;
	__syncthreads();
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
			sum += weights[i] * tile.x[(part * EACH + i) * PITCH];
		}
		sum += __shfl_xor_sync(0xffffffff, sum, 1);
		sum += __shfl_xor_sync(0xffffffff, sum, 2);
		if (real && part == 0) {
			y[o] = 1 / (1 + expf(-sum - bias[o]));
		}
	}
}

const u32 TOKEN_WARPS = 12, CHANNEL_WARPS = 8; // of a thread block

// Across tokens. Without `from`, the tokens are made of the points, with the constants at `start`. Results beyond `results` are not wanted.
template <template <u32, u32> class MIX>
__device__ __forceinline__ void across_tokens(u64 x, u64 start, u64 from, u64 to, u64 all, u32 points, u32 tokens, u32 channels, u32 steps, u32 results) {
	const u32 EACH = (TOKENS + TOKEN_WARPS - 1) / TOKEN_WARPS;
	__shared__ Tile<TOKENS, TOKEN_WARPS> tile;
	Constants constants = {at<const unsigned char>(all)};
	u32 row = blockIdx.x * ROWS, item = blockIdx.y;
	Norm norm(constants);
	MIX<TOKENS, TOKEN_WARPS> mix(constants, steps);
	float v[EACH][2];
	if (from) {
		fetch<TOKEN_WARPS>(at<const float>(from) + item * (TOKENS * CHANNELS), 0, tokens, channels, v);
	} else {
		embed(tile, Constants{at<const unsigned char>(start)}, at<const float2>(x) + item * points, points, tokens, v);
	}
	fill<true>(tile, norm, row, tokens, channels, v);
	mix.add(tile, tokens, results);
	keep<true>(tile, at<float>(to) + item * (TOKENS * CHANNELS), row, results < tokens ? results : tokens, channels);
}

// Across channels. Without `to`, the scores of the first token are wanted instead.
template <template <u32, u32> class MIX>
__device__ __forceinline__ void across_channels(u64 from, u64 to, u64 y, u64 all, u64 head, u32 tokens, u32 channels, u32 steps, u32 outputs) {
	const u32 EACH = ROWS / CHANNEL_WARPS;
	__shared__ Tile<CHANNELS, CHANNEL_WARPS> tile;
	Constants constants = {at<const unsigned char>(all)};
	u32 row = blockIdx.x * ROWS, item = blockIdx.y;
	Norm norm(constants);
	MIX<CHANNELS, CHANNEL_WARPS> mix(constants, steps);
	float v[EACH][2];
	fetch<CHANNEL_WARPS>(at<const float>(from) + item * (TOKENS * CHANNELS), row, tokens, channels, v);
	fill<false>(tile, norm, row, tokens, channels, v);
	mix.add(tile, channels, CHANNELS);
	if (to) {
		keep<false>(tile, at<float>(to) + item * (TOKENS * CHANNELS), row, tokens, channels);
	} else {
		score(tile, Constants{at<const unsigned char>(head)}, channels, outputs, at<float>(y) + item * outputs);
	}
}

} // namespace
