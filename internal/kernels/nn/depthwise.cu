// Y = act(X * W + bias), each channel with its own kernel. A thread makes V channels of one pixel.
#include "window.cuh"

#define DEPTHWISE_PARAMETERS                                                                                                                           \
	u64 x, u64 y, u64 constants, u32 items, u32 h, u32 w, u32 c, u32 kernel, u32 oh, u32 ow, u32 stride, u32 pads, u32 activation, u32 out_float

namespace {

template <typename T, int V, int K> __device__ __forceinline__ void depthwise_item(DEPTHWISE_PARAMETERS) {
	u32 item = blockIdx.x * blockDim.x + threadIdx.x;
	if (item >= items) {
		return;
	}
	u32 channel = item % (c / V) * V, pixel = item / (c / V), ox = pixel % ow, oy = pixel / ow % oh, image = pixel / ow / oh;
	Shape shape = {h, w, c, kernel >> 16, kernel & 0xffff};
	Window windows[1] = {{image * h * w * c, int(oy * (stride >> 16)) - int(pads >> 16), int(ox * (stride & 0xffff)) - int(pads & 0xffff)}};
	DepthwiseConstants k = depthwise_constants(at<const float>(constants + ZEROS), shape);
	const T *first = at<const T>(x), *zeros = at<const T>(constants);
	float sums[1][V];
	if constexpr (K == 0) {
		sums[0][0] = depthwise_any(first, zeros, windows[0], shape, k, channel, activation);
	} else {
		depthwise<K, false>(first, zeros, windows, shape, k, channel, activation, sums);
	}
	if (out_float) {
		store(at<float>(y) + pixel * c + channel, rounded<float>(sums[0]));
	} else {
		store(at<T>(y) + pixel * c + channel, rounded<T>(sums[0]));
	}
}

} // namespace

#define DEPTHWISE(name, T, V, K)                                                                                            \
	extern "C" __global__ void __launch_bounds__(128, 4) name(DEPTHWISE_PARAMETERS) {                                                                 \
		depthwise_item<T, V, K>(x, y, constants, items, h, w, c, kernel, oh, ow, stride, pads, activation, out_float);      \
	}

DEPTHWISE(depthwise3_f16_8, __half, 8, 3) EMULATED(depthwise3_f16_8);
DEPTHWISE(depthwise3_f16_2, __half, 2, 3) EMULATED(depthwise3_f16_2);
DEPTHWISE(depthwise3_f16_1, __half, 1, 3) EMULATED(depthwise3_f16_1);
DEPTHWISE(depthwise_f16_1, __half, 1, 0) EMULATED(depthwise_f16_1);
DEPTHWISE(depthwise3_f32_4, float, 4, 3) EMULATED(depthwise3_f32_4);
DEPTHWISE(depthwise3_f32_1, float, 1, 3) EMULATED(depthwise3_f32_1);
DEPTHWISE(depthwise_f32_1, float, 1, 0) EMULATED(depthwise_f32_1);
