// y[p][n] = prelu(scale[n] · Σ x[p][c]·w[n][c] + bias[n]) for C channels in and out, in halves and in signed bytes: the same steps, so that what
// differs is what the precision makes of them. A warp has 16 pixels; a lane's values of a pixel are next to each other, and so are its results.
#include "multiply.cuh"

namespace {

// Values of a row that a lane takes: WORDS of 4 bytes, PIECE of them in one access.
template <typename T, int C> struct Row {
	static const int WORDS = C * T::BYTES / 16;
	static const int PIECE = WORDS < 4 ? WORDS : 4;
	u32 words[WORDS];

	__device__ __forceinline__ void load(u64 row, u32 lane) {
#pragma unroll
		for (int w = 0; w < WORDS; w += PIECE) {
			u64 address = row + 16 * w + lane % 4 * PIECE * 4;
			if (PIECE == 4) {
				*reinterpret_cast<uint4 *>(words + w) = *at<const uint4>(address);
			} else if (PIECE == 2) {
				*reinterpret_cast<uint2 *>(words + w) = *at<const uint2>(address);
			} else {
				words[w] = *at<const u32>(address);
			}
		}
	}
};

template <typename T> struct Result;

template <> struct Result<Half> {
	__device__ __forceinline__ static u32 pack(float a, float b) {
		__half low = __float2half_rn(a), high = __float2half_rn(b);
		u16 bits[2];
		memcpy(bits, &low, 2);
		memcpy(bits + 1, &high, 2);
		return bits[0] | u32(bits[1]) << 16;
	}
};

__device__ __forceinline__ u32 to_byte(float v) {
	v = fminf(fmaxf(v, -128.0f), 127.0f);
	return u32(int(v + (v < 0 ? -0.5f : 0.5f))) & 0xff;
}

// A lane's results of a row: 2·TILES channels.
template <int TILES> __device__ __forceinline__ void store(Half, u64 address, const float *v) {
#pragma unroll
	for (int i = 0; i < TILES; i += 2) {
		*at<uint2>(address + 4 * i) = {Result<Half>::pack(v[2 * i], v[2 * i + 1]), Result<Half>::pack(v[2 * i + 2], v[2 * i + 3])};
	}
}

template <int TILES> __device__ __forceinline__ void store(Byte, u64 address, const float *v) {
#pragma unroll
	for (int i = 0; i < TILES; i += 2) {
		*at<u32>(address + 2 * i) = to_byte(v[2 * i]) | to_byte(v[2 * i + 1]) << 8 | to_byte(v[2 * i + 2]) << 16 | to_byte(v[2 * i + 3]) << 24;
	}
}

template <int TILES> __device__ __forceinline__ void fetch(u32 *b, const u32 *weights) {
	if (TILES == 4) {
		*reinterpret_cast<uint4 *>(b) = __ldg(reinterpret_cast<const uint4 *>(weights));
	} else {
		*reinterpret_cast<uint2 *>(b) = __ldg(reinterpret_cast<const uint2 *>(weights));
	}
}

// Constants: weights as the lanes take them, then scale, bias and slope of each channel, float32.
template <typename T, int C> __device__ __forceinline__ void pointwise(u64 x, u64 y, u64 constants, u32 pixels) {
	const int WORDS = Row<T, C>::WORDS, TILES = C < 32 ? 2 : 4, GROUP = 8 * TILES;
	u32 lane = threadIdx.x % 32, warp = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	u32 first = warp * 16 + lane / 4, second = first + 8;
	u32 last = pixels - 1;
	Row<T, C> upper, lower;
	upper.load(x + u64(min(first, last)) * C * T::BYTES, lane); // pixels behind the last one are computed and thrown away
	lower.load(x + u64(min(second, last)) * C * T::BYTES, lane);
	const u32 *weights = at<const u32>(constants) + lane * TILES;
	const float *channels = at<const float>(constants + C * C * T::BYTES);
	for (int group = 0; group < C / GROUP; group++) {
		typename T::Sum sums[TILES][4] = {};
#pragma unroll
		for (int w = 0; w < WORDS; w += 2) {
			u32 b[2][TILES];
#pragma unroll
			for (int k = 0; k < (WORDS < 2 ? 1 : 2); k++) {
				fetch<TILES>(b[k], weights + (group * WORDS + w + k) * 32 * TILES);
			}
#pragma unroll
			for (int j = 0; j < TILES; j++) {
				if (WORDS == 1) {
					multiply_once(Byte(), *reinterpret_cast<int(*)[4]>(sums[j]), upper.words[0], lower.words[0], b[0][j]);
				} else {
					multiply(T(), sums[j], upper.words + w, lower.words + w, b[0][j], b[1][j]);
				}
			}
		}
		int channel = group * GROUP + int(lane % 4) * 2 * TILES;
		float results[2][2 * TILES];
#pragma unroll
		for (int i = 0; i < 2 * TILES; i++) {
			const float *of = channels + channel + i;
			float scale = __ldg(of), bias = __ldg(of + C), slope = __ldg(of + 2 * C);
#pragma unroll
			for (int row = 0; row < 2; row++) {
				float v = float(sums[i / 2][2 * row + i % 2]) * scale + bias;
				results[row][i] = v < 0 ? v * slope : v;
			}
		}
		if (first < pixels) {
			store<TILES>(T(), y + (u64(first) * C + channel) * T::BYTES, results[0]);
		}
		if (second < pixels) {
			store<TILES>(T(), y + (u64(second) * C + channel) * T::BYTES, results[1]);
		}
	}
}

} // namespace

#define POINTWISE(name, type, channels)                                                                                                                \
	extern "C" __global__ void __launch_bounds__(128) name(u64 x, u64 y, u64 constants, u32 pixels) {                                                  \
		pointwise<type, channels>(x, y, constants, pixels);                                                                                            \
	}                                                                                                                                                  \
	EMULATED(name);

POINTWISE(pointwise_f16_16, Half, 16)
POINTWISE(pointwise_f16_32, Half, 32)
POINTWISE(pointwise_f16_64, Half, 64)
POINTWISE(pointwise_f16_128, Half, 128)
POINTWISE(pointwise_s8_16, Byte, 16)
POINTWISE(pointwise_s8_32, Byte, 32)
POINTWISE(pointwise_s8_64, Byte, 64)
POINTWISE(pointwise_s8_128, Byte, 128)
