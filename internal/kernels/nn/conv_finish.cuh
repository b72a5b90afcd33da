// What is added to a warp's sums, and where they go.
#pragma once
#include "conv_sums.cuh"

namespace {

// f(slot, its values), with one copy of f's code: values pass by, because registers have no index.
template <int SLOTS, typename F> __device__ __forceinline__ void each_slot(float (&values)[SLOTS][8], F f) {
#pragma unroll 1
	for (int s = 0; s < SLOTS; s++) {
		f(s, values[0]);
#pragma unroll
		for (int i = 0; i < 8; i++) {
			float passed = values[0][i];
#pragma unroll
			for (int k = 0; k + 1 < SLOTS; k++) {
				values[k][i] = values[k + 1][i];
			}
			values[SLOTS - 1][i] = passed;
		}
	}
}

// of is one of few, without memory for them.
template <int SLOTS> __device__ __forceinline__ u32 of(const u32 (&list)[SLOTS], int s) {
	u32 v = list[0];
#pragma unroll
	for (int k = 1; k < SLOTS; k++) {
		v = s == k ? list[k] : v;
	}
	return v;
}

// values += W of the residual's channels, or the maxima over four pixels of it.
template <int W, typename T> __device__ __forceinline__ void add_same(const T *from, float *values) {
	Values<T, W> a = load<W>(from);
#pragma unroll
	for (int j = 0; j < W; j++) {
		values[j] += to_float(a.values[j]);
	}
}

template <int W, typename T> __device__ __forceinline__ void add_pooled(const T *from, u32 right, u32 down, float *values) {
	Values<T, W> a = load<W>(from), b = load<W>(from + right), c = load<W>(from + down), d = load<W>(from + down + right);
#pragma unroll
	for (int j = 0; j < W; j++) {
		values[j] += larger(larger(to_float(a.values[j]), to_float(b.values[j])), larger(to_float(c.values[j]), to_float(d.values[j])));
	}
}

template <int W, typename T, int SLOTS>
__device__ __forceinline__ void add_narrow(const Conv &v, const T *first, const u32 (&from)[SLOTS], u32 n, float (&values)[SLOTS][8]) {
	each_slot(values, [&](int s, float(&slot)[8]) {
		const T *at = first + of(from, s);
#pragma unroll
		for (int i = 0; i < 8; i += W) {
			if (n + i < v.residual_c && v.kind == SAME_RESIDUAL) {
				add_same<W>(at + i, slot + i);
			} else if (n + i < v.residual_c) {
				add_pooled<W>(at + i, v.residual_c, 2 * v.ow * v.residual_c, slot + i);
			}
		}
	});
}

// What a pixel that is none gets, because not asking is faster, is not written.
template <typename T, int SLOTS> __device__ __forceinline__ void add_residual(const Conv &v, const u32 (&from)[SLOTS], u32 n, float (&values)[SLOTS][8]) {
	if (v.kind == NO_RESIDUAL || n >= v.residual_c) {
		return;
	}
	const T *first = at<const T>(v.residual) + n;
	if (v.residual_width == 2) {
		add_narrow<2>(v, first, from, n, values);
	} else if (v.residual_width == 1) {
		add_narrow<1>(v, first, from, n, values);
	} else if (v.kind == SAME_RESIDUAL) {
#pragma unroll
		for (int s = 0; s < SLOTS; s++) {
			add_same<8>(first + from[s], values[s]);
		}
	} else {
#pragma unroll
		for (int s = 0; s < SLOTS; s++) {
			add_pooled<8>(first + from[s], v.residual_c, 2 * v.ow * v.residual_c, values[s]);
		}
	}
}

template <int W, typename O, int SLOTS>
__device__ __forceinline__ void write_narrow(O *y, const u32 (&to)[SLOTS], u32 count, float (&values)[SLOTS][8]) {
	each_slot(values, [&](int s, float(&slot)[8]) {
		u32 offset = of(to, s);
#pragma unroll
		for (int i = 0; i < 8; i += W) {
			if (offset != NOWHERE && i < int(count)) {
				float part[W];
				for (int j = 0; j < W; j++) {
					part[j] = slot[i + j];
				}
				store(y + offset + i, rounded<O>(part));
			}
		}
	});
}

template <typename O, int SLOTS> __device__ __forceinline__ void write(const Conv &v, const u32 (&to)[SLOTS], u32 n, float (&values)[SLOTS][8]) {
	O *y = at<O>(v.y) + n;
	if (v.width == 8) {
#pragma unroll
		for (int s = 0; s < SLOTS; s++) {
			if (to[s] != NOWHERE) {
				store(y + to[s], rounded<O>(values[s]));
			}
		}
	} else if (v.width == 2) {
		write_narrow<2>(y, to, v.n - n, values);
	} else {
		write_narrow<1>(y, to, v.n - n, values);
	}
}

// row is the lane's first one, n its first channel.
template <typename T, int SLOTS> __device__ __forceinline__ void finish(const Conv &v, const Tile &t, const Sums<T, SLOTS> &sums, u32 row, u32 n) {
	Values<float, 8> bias = load_constant<8>(at<const float>(v.constants + v.bias) + n), slope;
	if (v.activation == PRELU) {
		slope = load_constant<8>(at<const float>(v.constants + v.slope) + n);
	}
	u32 from[SLOTS], to[SLOTS];
	float values[SLOTS][8];
#pragma unroll
	for (int s = 0; s < SLOTS; s++) {
		Target target = {NOWHERE, 0};
		if (row + 8 * s < v.m) {
			target = t.targets[row + 8 * s];
		}
		from[s] = target.residual, to[s] = target.y;
#pragma unroll
		for (int i = 0; i < 8; i++) {
			values[s][i] = sums.get(s, i) + bias.values[i];
		}
	}
	add_residual<T>(v, from, n, values);
#pragma unroll
	for (int s = 0; s < SLOTS; s++) {
		activate(v.activation, values[s], slope.values);
	}
	if (v.out_float) {
		write<float>(v, to, n, values);
	} else {
		write<T>(v, to, n, values);
	}
}

} // namespace
