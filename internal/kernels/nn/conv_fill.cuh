// The values of a tile's pixels in shared memory: what the weights are multiplied with.
#pragma once
#include "conv_tile.cuh"

namespace {

// The windows' values themselves: value k is channel k%C of tap k/C.
struct Gather {
	static const bool WHOLE = false;
	static const int BATCH = 4; // loads that are on their way together

	template <typename T> __device__ static inline void prepare(const Conv &, const Tile &) {}

	template <typename T, int V> __device__ static inline void fill(const Conv &v, const Tile &t, u32 first, u32 end, u32 pitch) {
		const T *x = at<const T>(v.x), *zeros = at<const T>(v.constants);
		Share share((end - first) / V);
		for (u32 g = share.group; g < (end - first) / V; g += share.groups_step) {
			u32 k = first + g * V, tap = k / v.in.c, c = k % v.in.c, ky = tap / v.in.kw, kx = tap % v.in.kw;
			bool real = k < v.k;
			T *out = reinterpret_cast<T *>(t.values) + g * V;
			for (u32 row = share.row; row < v.m; row += BATCH * share.rows_step) {
				Values<T, V> taps[BATCH];
#pragma unroll
				for (int i = 0; i < BATCH; i++) {
					Window window = OUTSIDE;
					if (real && row + i * share.rows_step < v.m) {
						window = t.windows[row + i * share.rows_step];
					}
					taps[i] = load_tap<V>(x, zeros, window, v.in, ky, kx, c);
				}
#pragma unroll
				for (int i = 0; i < BATCH; i++) {
					if (row + i * share.rows_step < v.m) {
						store(out + (row + i * share.rows_step) * pitch, taps[i]);
					}
				}
			}
		}
	}
};

// A depthwise convolution of 3×3, whose weights lie in shared memory. A thread makes P pixels at once, 1 or 2.
template <int P> struct Front3 {
	static const bool WHOLE = true; // all channels are there at once
	template <typename T> __device__ static inline void prepare(const Conv &v, const Tile &t) {
		u32 slopes = v.front_activation == PRELU ? 1 : 0, words = (9 * v.in.c + 3) / 4 + (1 + slopes) * ((v.in.c + 3) / 4);
		for (u32 i = threadIdx.x; i < words; i += blockDim.x) {
			store(t.front + 4 * i, load_constant<4>(at<const float>(v.constants + v.front) + 4 * i));
		}
	}

	template <typename T, int V> __device__ static inline void fill(const Conv &v, const Tile &t, u32, u32 end, u32 pitch) {
		const T *x = at<const T>(v.x), *zeros = at<const T>(v.constants);
		DepthwiseConstants constants = depthwise_constants(t.front, v.in);
		Share share(end / V);
		u32 c = share.group * V;
		T *out = reinterpret_cast<T *>(t.values) + c;
		for (u32 row = share.row; row < v.m; row += P * share.rows_step) {
			u32 second = row + share.rows_step;
			float sums[P][V] = {};
			if (c < v.k) {
				Window windows[P];
				windows[0] = t.windows[row];
				if (P > 1) {
					windows[P - 1] = OUTSIDE;
					if (second < v.m) {
						windows[P - 1] = t.windows[second];
					}
				}
				depthwise<3, true>(x, zeros, windows, v.in, constants, c, v.front_activation, sums);
			}
			store(out + row * pitch, rounded<T>(sums[0]));
			if (P > 1 && second < v.m) {
				store(out + second * pitch, rounded<T>(sums[P - 1]));
			}
		}
	}
};

// A depthwise convolution of any size.
struct FrontAny {
	static const bool WHOLE = false;
	template <typename T> __device__ static inline void prepare(const Conv &, const Tile &) {}

	template <typename T, int V> __device__ static inline void fill(const Conv &v, const Tile &t, u32 first, u32 end, u32 pitch) {
		const T *x = at<const T>(v.x), *zeros = at<const T>(v.constants);
		DepthwiseConstants constants = depthwise_constants(at<const float>(v.constants + v.front), v.in);
		Share share(end - first);
		for (u32 i = share.group; i < end - first; i += share.groups_step) {
			T *out = reinterpret_cast<T *>(t.values) + i;
			for (u32 row = share.row; row < v.m; row += share.rows_step) {
				float sum = 0;
				if (first + i < v.k) {
					sum = depthwise_any(x, zeros, t.windows[row], v.in, constants, first + i, v.front_activation);
				}
				out[row * pitch] = from_float<T>(sum);
			}
		}
	}
};

} // namespace
