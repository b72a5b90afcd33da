// Y = act(maxima over windows of X). A thread makes V channels of one pixel.
#include "window.cuh"

#define POOL_PARAMETERS u64 x, u64 y, u32 items, u32 h, u32 w, u32 c, u32 kernel, u32 oh, u32 ow, u32 stride, u32 pads, u32 activation

namespace {

template <typename T, int V> __device__ __forceinline__ void enlarge(float (&best)[V], const Values<T, V> &v) {
#pragma unroll
	for (int i = 0; i < V; i++) {
		best[i] = larger(best[i], to_float(v.values[i]));
	}
}

template <typename T, int V> __device__ __forceinline__ void pool_item(POOL_PARAMETERS) {
	u32 item = blockIdx.x * blockDim.x + threadIdx.x;
	if (item >= items) {
		return;
	}
	u32 channel = item % (c / V) * V, pixel = item / (c / V), ox = pixel % ow, oy = pixel / ow % oh, image = pixel / ow / oh;
	int top = int(oy * (stride >> 16)) - int(pads >> 16), left = int(ox * (stride & 0xffff)) - int(pads & 0xffff);
	u32 y0 = max(top, 0), y1 = min(top + int(kernel >> 16), int(h)), x0 = max(left, 0), x1 = min(left + int(kernel & 0xffff), int(w));
	const T *first = at<const T>(x) + image * h * w * c + channel;
	float best[V];
	for (int i = 0; i < V; i++) {
		best[i] = -INFINITY;
	}
	if (kernel == (2 << 16 | 2)) { // four loads at once; some are the same at an edge
		Values<T, V> v[4];
#pragma unroll
		for (int i = 0; i < 4; i++) {
			u32 row = i < 2 ? y0 : y1 - 1, column = i % 2 == 0 ? x0 : x1 - 1;
			v[i] = load_constant<V>(first + (row * w + column) * c);
		}
#pragma unroll
		for (int i = 0; i < 4; i++) {
			enlarge(best, v[i]);
		}
	} else {
		for (u32 row = y0; row < y1; row++) {
			for (u32 column = x0; column < x1; column++) {
				enlarge(best, load_constant<V>(first + (row * w + column) * c));
			}
		}
	}
	activate(activation, best, best);
	store(at<T>(y) + pixel * c + channel, rounded<T>(best));
}

} // namespace

#define POOL(name, T, V)                                                                            \
	extern "C" __global__ void __launch_bounds__(128, 8) name(POOL_PARAMETERS) {                                              \
		pool_item<T, V>(x, y, items, h, w, c, kernel, oh, ow, stride, pads, activation);            \
	}

POOL(max_pool_f16_8, __half, 8) EMULATED(max_pool_f16_8);
POOL(max_pool_f16_2, __half, 2) EMULATED(max_pool_f16_2);
POOL(max_pool_f16_1, __half, 1) EMULATED(max_pool_f16_1);
POOL(max_pool_f32_4, float, 4) EMULATED(max_pool_f32_4);
POOL(max_pool_f32_1, float, 1) EMULATED(max_pool_f32_1);
