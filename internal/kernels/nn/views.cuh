// Elements by their index along up to six axes, in either precision.
#pragma once
#include "vector.cuh"

namespace {

#define AXES6(name) u32 name##0, u32 name##1, u32 name##2, u32 name##3, u32 name##4, u32 name##5
#define PASS6(name) name##0, name##1, name##2, name##3, name##4, name##5

struct Axes {
	u32 n[6];
	__device__ __forceinline__ Axes(AXES6(a)) : n{PASS6(a)} {}
};

// locate adds to `places` where element number i of a shape lies in N views. Axes of one element, which come first, cost nothing.
template <int N> __device__ __forceinline__ void locate(u32 (&places)[N], u32 i, const Axes &shape, const Axes (&strides)[N]) {
#pragma unroll
	for (int axis = 5; axis >= 0; axis--) {
		if (i == 0) {
			break;
		}
		u32 next = i / shape.n[axis], k = i - next * shape.n[axis];
#pragma unroll
		for (int v = 0; v < N; v++) {
			places[v] += k * strides[v].n[axis];
		}
		i = next;
	}
}

template <typename T, int V> __device__ __forceinline__ void read_as(float (&v)[V], const T *p, bool repeated) {
	if (repeated) {
		v[0] = to_float(p[0]);
#pragma unroll
		for (int i = 1; i < V; i++) {
			v[i] = v[0];
		}
		return;
	}
	Values<T, V> words = load<V>(p);
#pragma unroll
	for (int i = 0; i < V; i++) {
		v[i] = to_float(words.values[i]);
	}
}

// read takes V elements side by side from element i on, or the same one for all.
template <int V> __device__ __forceinline__ void read(float (&v)[V], u64 address, u32 i, bool half, bool repeated) {
	if (half) {
		read_as(v, at<const __half>(address) + i, repeated);
	} else {
		read_as(v, at<const float>(address) + i, repeated);
	}
}

template <int V> __device__ __forceinline__ void write(u64 address, u32 i, bool half, const float (&v)[V]) {
	if (half) {
		store(at<__half>(address) + i, rounded<__half>(v));
	} else {
		store(at<float>(address) + i, rounded<float>(v));
	}
}

} // namespace
