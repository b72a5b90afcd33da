// scores = mixer(points), in float32 throughout
#include "mixer.cuh"

namespace {

// The rows of one value, from which 16 sums take v times w.
__device__ __forceinline__ void add_rows(float (&sums)[ROWS], float w, const float *rows) {
#pragma unroll
	for (u32 r = 0; r < ROWS; r += 4) {
		float4 v = *reinterpret_cast<const float4 *>(rows + r);
		sums[r] += w * v.x;
		sums[r + 1] += w * v.y;
		sums[r + 2] += w * v.z;
		sums[r + 3] += w * v.w;
	}
}

// x += out(relu(in(n))), as in mixer_f16.cu. A thread makes one hidden value of all rows, then, of as many hidden values as there are threads,
// its part of one result of all rows.
template <u32 N, u32 WARPS> struct Mix {
	static const u32 THREADS = WARPS * 32, COLUMNS = (N + 15) / 16 * 16, PARTS = THREADS / COLUMNS;
	u32 width;
	const float *hiddenBias, *bias, *in, *out;

	__device__ __forceinline__ Mix(Constants &constants, u32 steps) : width(steps * 32) {
		hiddenBias = constants.take<float>(width), bias = constants.take<float>(COLUMNS);
		in = constants.take<float>(N * width), out = constants.take<float>(width * COLUMNS);
	}

	__device__ __forceinline__ void add(Tile<N> &tile, u32 count, u32 results) {
		__shared__ float4 shared[THREADS * ROWS / 4];
		float *hidden = &shared[0].x;
		u32 column = threadIdx.x % COLUMNS, part = threadIdx.x / COLUMNS;
		bool busy = part < PARTS && column < count && column < results;
		float sums[ROWS];
#pragma unroll
		for (u32 r = 0; r < ROWS; r++) {
			sums[r] = busy && part == 0 ? __ldg(bias + column) : 0;
		}
		for (u32 first = 0; first < width; first += THREADS) {
			u32 j = first + threadIdx.x;
			float h[ROWS] = {};
			if (j < width) {
#pragma unroll
				for (u32 r = 0; r < ROWS; r++) {
					h[r] = __ldg(hiddenBias + j);
				}
#pragma unroll 8
				for (u32 k = 0; k < count; k++) {
					add_rows(h, __ldg(in + k * width + j), tile.n + k * PITCH);
				}
			}
			__syncthreads(); // the hidden values before these have been read
#pragma unroll
			for (u32 r = 0; r < ROWS; r++) {
				hidden[threadIdx.x * ROWS + r] = h[r] < 0 ? 0 : h[r];
			}
			__syncthreads();
			u32 end = width - first < THREADS ? width - first : THREADS;
			if (busy) {
#pragma unroll 8
				for (u32 k = part; k < end; k += PARTS) {
					add_rows(sums, __ldg(out + (first + k) * COLUMNS + column), hidden + k * ROWS);
				}
			}
		}
		for (u32 round = 0; round < PARTS; round++) {
			__syncthreads();
			if (busy && part == round) {
#pragma unroll
				for (u32 r = 0; r < ROWS; r++) {
					tile.x[column * PITCH + r] += sums[r];
				}
			}
		}
	}
};

} // namespace

MIXER(f32)
EMULATED(mixer_tokens_f32);
EMULATED(mixer_channels_f32);
