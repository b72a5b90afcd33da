// y[index] = act(a[index] op b[index]), and y[index] = act(op x[index]). The kernels with a 4 in their name take four elements side by side, as which
// their last axis is counted.
#include "views.cuh"

namespace {

__device__ __forceinline__ float combined(u32 op, float a, float b) {
	switch (op) {
	case 0: return a + b;
	case 1: return a - b;
	case 2: return a * b;
	case 3: return a / b;
	case 4: return (a - b) * (a - b);
	default: return a < 0 ? a * b : a; // b is the slope
	}
}

__device__ __forceinline__ float changed(u32 op, float v) {
	switch (op) {
	case 0: return -v;
	case 1: return sqrtf(v);
	case 2: return 1 / sqrtf(v); // rsqrtf has two digits less
	default: return v;
	}
}

template <int V> __device__ __forceinline__ void binary(u64 a, u64 b, u64 y, u32 n, u32 (&places)[3], u32 flags, const Axes &shape, const Axes (&strides)[3]) {
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n) {
		return;
	}
	locate(places, i, shape, strides);
	float left[V], right[V];
	read(left, a, places[0], flags & 1, V > 1 && strides[0].n[5] == 0);
	read(right, b, places[1], flags & 2, V > 1 && strides[1].n[5] == 0);
#pragma unroll
	for (int k = 0; k < V; k++) {
		left[k] = combined(flags >> 16, left[k], right[k]);
	}
	activate(flags >> 8 & 0xff, left, right);
	write(y, places[2], flags & 4, left);
}

template <int V> __device__ __forceinline__ void unary(u64 x, u64 y, u32 n, u32 (&places)[2], u32 flags, const Axes &shape, const Axes (&strides)[2]) {
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n) {
		return;
	}
	locate(places, i, shape, strides);
	float v[V];
	read(v, x, places[0], flags & 1, V > 1 && strides[0].n[5] == 0);
#pragma unroll
	for (int k = 0; k < V; k++) {
		v[k] = changed(flags >> 16, v[k]);
	}
	activate(flags >> 8 & 0xff, v, v);
	write(y, places[1], flags & 2, v);
}

} // namespace

extern "C" __global__ void binary_view(u64 a, u64 b, u64 y, u32 n, u32 aItem, u32 bItem, u32 yItem, u32 flags, AXES6(s), AXES6(p), AXES6(q), AXES6(r)) {
	u32 places[3] = {blockIdx.y * aItem, blockIdx.y * bItem, blockIdx.y * yItem};
	binary<1>(a, b, y, n, places, flags, Axes(PASS6(s)), {Axes(PASS6(p)), Axes(PASS6(q)), Axes(PASS6(r))});
}
EMULATED(binary_view);

extern "C" __global__ void binary_view4(u64 a, u64 b, u64 y, u32 n, u32 aItem, u32 bItem, u32 yItem, u32 flags, AXES6(s), AXES6(p), AXES6(q), AXES6(r)) {
	u32 places[3] = {blockIdx.y * aItem, blockIdx.y * bItem, blockIdx.y * yItem};
	binary<4>(a, b, y, n, places, flags, Axes(PASS6(s)), {Axes(PASS6(p)), Axes(PASS6(q)), Axes(PASS6(r))});
}
EMULATED(binary_view4);

extern "C" __global__ void unary_view(u64 x, u64 y, u32 n, u32 xItem, u32 yItem, u32 flags, AXES6(s), AXES6(a), AXES6(b)) {
	u32 places[2] = {blockIdx.y * xItem, blockIdx.y * yItem};
	unary<1>(x, y, n, places, flags, Axes(PASS6(s)), {Axes(PASS6(a)), Axes(PASS6(b))});
}
EMULATED(unary_view);

extern "C" __global__ void unary_view4(u64 x, u64 y, u32 n, u32 xItem, u32 yItem, u32 flags, AXES6(s), AXES6(a), AXES6(b)) {
	u32 places[2] = {blockIdx.y * xItem, blockIdx.y * yItem};
	unary<4>(x, y, n, places, flags, Axes(PASS6(s)), {Axes(PASS6(a)), Axes(PASS6(b))});
}
EMULATED(unary_view4);
