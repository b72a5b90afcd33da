// A warp's sums: 32 or 16 pixels by 32 channels.
#pragma once
#include "conv_fill.cuh"

namespace {

// Lane l has of pixel l/4 + 8·s the channels l%4*8 + i. SLOTS, 4 or 2, is how many pixels it has.
template <typename T, int SLOTS> struct Sums;

// By tensor cores, 16 × 8 sums from 8 values at a time. A lane has two neighbouring columns of each; four of them, read as columns 8·(l%4) + 2·j
// and the next, make it eight neighbouring channels: the host has put the weights so. A step's weights are 16 bytes for each lane.
template <int SLOTS> struct Sums<__half, SLOTS> {
	static const int AHEAD = 4; // steps whose weights are on their way
	float d[SLOTS / 2][4][4];
	const uint4 *weights;
	u32 steps;
	uint4 ahead[AHEAD];

	__device__ __forceinline__ void begin(u64 all, u32 group, u32 k, u32 lane) {
		steps = (k + 7) / 8;
		weights = at<const uint4>(all) + group * steps * 32 + lane;
#pragma unroll
		for (int i = 0; i < AHEAD; i++) {
			fetch(i, i);
		}
	}

	__device__ __forceinline__ void fetch(int i, u32 step) {
		if (step < steps) {
			ahead[i] = __ldg(weights + step * 32);
		}
	}

	__device__ __forceinline__ void clear() {
#pragma unroll
		for (int i = 0; i < SLOTS * 8; i++) {
			d[i / 16][i / 4 % 4][i % 4] = 0;
		}
	}

	// values are those of the lane's first row, from value `first` on.
	__device__ __forceinline__ void add(const unsigned char *values, u32 pitch, u32 first, u32 end, bool both, u32 lane) {
		const u32 *row = reinterpret_cast<const u32 *>(values) + lane % 4;
		for (u32 step = first / 8; step < end / 8; step += AHEAD) {
			uint4 now[AHEAD];
#pragma unroll
			for (int i = 0; i < AHEAD; i++) {
				now[i] = ahead[i];
				fetch(i, step + AHEAD + i);
			}
#pragma unroll
			for (int i = 0; i < AHEAD; i++) {
				if (step + i < end / 8) {
					const u32 *a = row + (step + i - first / 8) * 4;
					multiply(d[0], a[0], a[4 * pitch], now[i]);
					if (SLOTS > 2 && both) {
						multiply(d[SLOTS / 2 - 1], a[8 * pitch], a[12 * pitch], now[i]);
					}
				}
			}
		}
	}

	__device__ __forceinline__ static void multiply(float (&sums)[4][4], u32 a0, u32 a1, uint4 b) {
		mma_16x8x8(sums[0], a0, a1, b.x);
		mma_16x8x8(sums[1], a0, a1, b.y);
		mma_16x8x8(sums[2], a0, a1, b.z);
		mma_16x8x8(sums[3], a0, a1, b.w);
	}

	__device__ __forceinline__ float get(int s, int i) const { return d[s / 2][i / 2][s % 2 * 2 + i % 2]; }
};

// By plain sums. Weights are [group][k][32].
template <int SLOTS> struct Sums<float, SLOTS> {
	float d[SLOTS][8];
	const float *weights;

	__device__ __forceinline__ void begin(u64 all, u32 group, u32 k, u32 lane) {
		weights = at<const float>(all) + group * ((k + 7) / 8 * 8) * 32 + lane % 4 * 8;
	}

	__device__ __forceinline__ void clear() {
#pragma unroll
		for (int i = 0; i < SLOTS * 8; i++) {
			d[i / 8][i % 8] = 0;
		}
	}

	__device__ __forceinline__ void add(const unsigned char *values, u32 pitch, u32 first, u32 end, bool both, u32) {
		const float *row = reinterpret_cast<const float *>(values);
		for (u32 k = first; k < end; k += 4) {
			Values<float, 4> a[SLOTS];
#pragma unroll
			for (int s = 0; s < SLOTS; s++) {
				if (s < 2 || both) {
					a[s] = load<4>(row + 8 * s * pitch + k - first);
				}
			}
#pragma unroll
			for (int j = 0; j < 4; j++) {
				Values<float, 8> b = load_constant<8>(weights + (k + j) * 32);
#pragma unroll
				for (int s = 0; s < SLOTS; s++) {
#pragma unroll
					for (int i = 0; i < 8; i++) {
						d[s][i] += a[s].values[j] * b.values[i];
					}
				}
			}
		}
	}

	__device__ __forceinline__ float get(int s, int i) const { return d[s][i]; }
};

} // namespace
