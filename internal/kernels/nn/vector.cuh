// Neighbouring values in accesses of up to 16 bytes, and activations.
#pragma once
#include "portable.cuh"

namespace { // each file of kernels has its own

template <int BYTES> struct Word;
template <> struct Word<16> { typedef uint4 type; };
template <> struct Word<8> { typedef uint2 type; };
template <> struct Word<4> { typedef u32 type; };
template <> struct Word<2> { typedef u16 type; };

// Values are V of them as they lie in memory: one word, or two for eight floats.
template <typename T, int V> struct Values {
	static const int BYTES = sizeof(T) * V, WORDS = BYTES > 16 ? BYTES / 16 : 1;
	typedef typename Word<BYTES / WORDS>::type Part;
	union {
		Part parts[WORDS];
		T values[V];
	};
	__device__ __forceinline__ Values() {
		for (int i = 0; i < WORDS; i++) {
			parts[i] = Part();
		}
	}
};

// load_constant reads what nothing writes while the kernel runs.
template <int V, typename T> __device__ __forceinline__ Values<T, V> load_constant(const T *p) {
	Values<T, V> v;
	for (int i = 0; i < v.WORDS; i++) {
		v.parts[i] = __ldg(reinterpret_cast<const typename Values<T, V>::Part *>(p) + i);
	}
	return v;
}

template <int V, typename T> __device__ __forceinline__ Values<T, V> load(const T *p) {
	Values<T, V> v;
	for (int i = 0; i < v.WORDS; i++) {
		v.parts[i] = reinterpret_cast<const typename Values<T, V>::Part *>(p)[i];
	}
	return v;
}

template <typename T, int V> __device__ __forceinline__ void store(T *p, const Values<T, V> &v) {
	for (int i = 0; i < v.WORDS; i++) {
		reinterpret_cast<typename Values<T, V>::Part *>(p)[i] = v.parts[i];
	}
}

template <typename T, int V> __device__ __forceinline__ Values<T, V> rounded(const float (&v)[V]) {
	Values<T, V> out;
	for (int i = 0; i < V; i++) {
		out.values[i] = from_float<T>(v[i]);
	}
	return out;
}

__device__ __forceinline__ float larger(float a, float b) { return a < b ? b : a; }

enum Activation { NONE, RELU, RELU6, PRELU, LOGISTIC }; // as in set.go

// v = activation(v); a slope counts for PRELU only.
template <int N> __device__ __forceinline__ void activate(u32 activation, float (&v)[N], const float (&slope)[N]) {
	switch (activation) {
	case RELU:
#pragma unroll
		for (int i = 0; i < N; i++) {
			v[i] = v[i] < 0 ? 0 : v[i];
		}
		break;
	case RELU6:
#pragma unroll
		for (int i = 0; i < N; i++) {
			v[i] = v[i] < 0 ? 0 : v[i] > 6 ? 6 : v[i];
		}
		break;
	case PRELU:
#pragma unroll
		for (int i = 0; i < N; i++) {
			v[i] = v[i] < 0 ? v[i] * slope[i] : v[i];
		}
		break;
	case LOGISTIC:
#pragma unroll
		for (int i = 0; i < N; i++) {
			v[i] = __fdividef(1, 1 + __expf(-v[i]));
		}
		break;
	}
}

} // namespace
