// y[index] = act(x[index]) for every index of a shape: transposition, windows, repetition, conversion; one element at a time or four side by side
#include "views.cuh"

namespace {

template <int V> __device__ __forceinline__ void move(u64 x, u64 y, u32 n, u32 (&places)[2], u32 flags, const Axes &shape, const Axes (&strides)[2]) {
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n) {
		return;
	}
	locate(places, i, shape, strides);
	float v[V];
	read(v, x, places[0], flags & 1, V > 1 && strides[0].n[5] == 0);
	activate(flags >> 8, v, v);
	write(y, places[1], flags & 2, v);
}

} // namespace

extern "C" __global__ void move_view(u64 x, u64 y, u32 n, u32 xItem, u32 yItem, u32 flags, AXES6(s), AXES6(a), AXES6(b)) {
	u32 places[2] = {blockIdx.y * xItem, blockIdx.y * yItem};
	move<1>(x, y, n, places, flags, Axes(PASS6(s)), {Axes(PASS6(a)), Axes(PASS6(b))});
}
EMULATED(move_view);

extern "C" __global__ void move_view4(u64 x, u64 y, u32 n, u32 xItem, u32 yItem, u32 flags, AXES6(s), AXES6(a), AXES6(b)) {
	u32 places[2] = {blockIdx.y * xItem, blockIdx.y * yItem};
	move<4>(x, y, n, places, flags, Axes(PASS6(s)), {Axes(PASS6(a)), Axes(PASS6(b))});
}
EMULATED(move_view4);
