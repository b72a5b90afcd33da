// The products of a chain, and what is added to them.
#pragma once
#include "chain.cuh"

namespace {

const u32 AHEAD = 4; // 16 bytes of weights of each lane that are on their way

// Weights are read in the order of a warp's tasks, and then of the next unit's: they do not depend on what is computed.
struct Weights {
	u64 constants;
	uint4 ahead[AHEAD];

	__device__ __forceinline__ const uint4 *of(const Unit &u, u32 task) const {
		u32 group = task - divided(task, u.by_groups) * u.groups;
		return at<const uint4>(constants + u.weights) + group * u.chunks * 32 + threadIdx.x % 32;
	}

	__device__ __forceinline__ void fetch(const uint4 *from, u32 count) {
#pragma unroll
		for (u32 i = 0; i < AHEAD; i++) {
			if (i < count) {
				ahead[i] = __ldg(from + i * 32);
			}
		}
	}

	// The first ones of a unit.
	__device__ __forceinline__ void begin(const Unit &u) {
		u32 warp = threadIdx.x / 32;
		if (warp < u.products) {
			fetch(of(u, warp), u.chunks);
		}
	}
};

struct Outputs {
	u64 y[4];
	__device__ __forceinline__ u64 number(u32 n) const { return n < 3 ? n == 1 ? y[0] : y[1] : n == 3 ? y[2] : y[3]; }
};

// What is added to the products of a unit, and where they go; here because a unit in shared memory is read again after each write there.
struct Ends {
	const unsigned char *residual;
	u32 kind, pitch, ow, by_ow, row;
	unsigned char *to;
	u32 to_pitch, activation, output;

	__device__ __forceinline__ Ends(const Unit &u, unsigned char *shared, u32 n) {
		residual = shared + u.residual + n * 2, kind = n < u.residual_c ? u.residual_kind : u32(NO_RESIDUAL);
		pitch = u.residual_pitch, ow = u.ow, by_ow = u.by_ow, row = u.residual_row;
		to = u.to == NOWHERE ? nullptr : shared + u.to + n * 2, to_pitch = u.to_pitch;
		activation = u.activation, output = u.output;
	}

	template <int V> __device__ __forceinline__ Values<__half, V> read(u32 pixel) const {
		return load<V>(reinterpret_cast<const __half *>(residual + pixel * pitch));
	}

	template <int V> __device__ __forceinline__ void add(u32 pixel, float (&values)[V]) const {
		if (kind == SAME_RESIDUAL) {
			Values<__half, V> a = read<V>(pixel);
#pragma unroll
			for (int i = 0; i < V; i++) {
				values[i] += to_float(a.values[i]);
			}
		} else if (kind == POOLED_RESIDUAL) {
			u32 oy = divided(pixel, by_ow), first = 2 * (oy * row + pixel - oy * ow);
			Values<__half, V> a = read<V>(first), b = read<V>(first + 1), c = read<V>(first + row), d = read<V>(first + row + 1);
#pragma unroll
			for (int i = 0; i < V; i++) {
				values[i] += larger(larger(to_float(a.values[i]), to_float(b.values[i])), larger(to_float(c.values[i]), to_float(d.values[i])));
			}
		}
	}
};

template <typename T, int V> __device__ __forceinline__ void write(u64 output, const Unit &u, u32 pixel, u32 n, const float (&values)[V]) {
	T *first = at<T>(output) + (blockIdx.x * u.out_item + pixel * u.channels + n);
	const u32 BYTES = sizeof(T) * V < 16 ? sizeof(T) * V : 16;
	if (n + V <= u.channels && reinterpret_cast<size_t>(first) % BYTES == 0) {
		store(first, rounded<T>(values));
		return;
	}
#pragma unroll
	for (u32 i = 0; i < V; i++) {
		if (n + i < u.channels) {
			first[i] = from_float<T>(values[i]);
		}
	}
}

template <int V> __device__ __forceinline__ void send(const Unit &u, const Outputs &outputs, u32 pixel, u32 n, const float (&values)[V]) {
	if (u.out_float) {
		write<float>(outputs.number(u.output), u, pixel, n, values);
	} else {
		write<__half>(outputs.number(u.output), u, pixel, n, values);
	}
}

// A warp makes MT × 16 pixels by NJ × 8 channels at a time. A lane has neighbouring channels of a pixel, as in conv_sums.cuh; its 16 bytes of
// weights are those of 4 / NJ steps.
template <int MT, int NJ>
__device__ __forceinline__ void multiply(const Unit &u, const Unit *next, unsigned char *shared, const Outputs &outputs, Weights &weights) {
	const u32 STEPS = 4 / NJ;
	u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, chunks = u.chunks, steps = u.steps, tiles = u.tiles, pitch = u.pitch / 4;
	for (u32 task = warp; task < u.products; task += WARPS) {
		u32 rows = divided(task, u.by_groups), group = task - rows * u.groups;
		const u32 *a[MT];
		float d[MT][NJ][4];
#pragma unroll
		for (u32 t = 0; t < MT; t++) {
			u32 tile = min(rows * MT + t, tiles - 1);
			a[t] = reinterpret_cast<const u32 *>(shared + u.values) + (tile * 16 + lane / 4) * pitch + lane % 4;
#pragma unroll
			for (int i = 0; i < NJ * 4; i++) {
				d[t][i / 4][i % 4] = 0;
			}
		}
		const uint4 *from = weights.of(u, task), *then = from;
		u32 after = 0; // 16 bytes of weights behind this task's
		if (task + WARPS < u.products) {
			then = weights.of(u, task + WARPS), after = chunks;
		} else if (next && warp < next->products) {
			then = weights.of(*next, warp), after = next->chunks;
		}
		for (u32 chunk = 0; chunk < chunks; chunk += AHEAD) {
			uint4 now[AHEAD];
#pragma unroll
			for (u32 i = 0; i < AHEAD; i++) {
				now[i] = weights.ahead[i];
			}
			bool last = chunk + AHEAD >= chunks;
			weights.fetch(last ? then : from + (chunk + AHEAD) * 32, last ? after : chunks - chunk - AHEAD);
			auto products = [&](bool all) {
#pragma unroll
				for (u32 i = 0; i < AHEAD; i++) {
					const u32 b[4] = {now[i].x, now[i].y, now[i].z, now[i].w};
#pragma unroll
					for (u32 s = 0; s < STEPS; s++) {
						u32 step = (chunk + i) * STEPS + s;
						if (all || step < steps) {
#pragma unroll
							for (int t = 0; t < MT; t++) {
								u32 a0 = a[t][step * 4], a1 = a[t][8 * pitch + step * 4];
#pragma unroll
								for (int j = 0; j < NJ; j++) {
									mma_16x8x8(d[t][j], a0, a1, b[s * NJ + j]);
								}
							}
						}
					}
				}
			};
			if ((chunk + AHEAD) * STEPS <= steps) {
				products(true);
			} else {
				products(false);
			}
		}
		u32 n = (group * 4 + lane % 4) * (NJ * 2);
		if (n < u.n) {
			const Ends ends(u, shared, n);
			const float *numbers = reinterpret_cast<const float *>(shared + u.at) + n;
			Values<float, NJ * 2> bias = load<NJ * 2>(numbers + u.bias), slope = slopes<NJ * 2>(ends.activation, numbers + u.slope);
			u32 pixels = u.pixels;
#pragma unroll 1
			for (u32 t = 0; t < MT; t++) { // tiles pass by, because registers have no index
#pragma unroll
				for (u32 half = 0; half < 2; half++) {
					u32 pixel = (rows * MT + t) * 16 + lane / 4 + half * 8;
					float values[NJ * 2];
#pragma unroll
					for (int i = 0; i < NJ * 2; i++) {
						values[i] = d[0][i / 2][half * 2 + i % 2] + bias.values[i];
					}
					if (pixel < pixels) {
						ends.add(pixel, values);
						bend(ends.activation, values, slope);
						if (ends.to) {
							store(reinterpret_cast<__half *>(ends.to + pixel * ends.to_pitch), rounded<__half>(values));
						}
						if (ends.output > 0) {
							send(u, outputs, pixel, n, values);
						}
					}
				}
#pragma unroll
				for (int i = 0; i < (MT - 1) * NJ * 4; i++) {
					d[i / (NJ * 4)][i / 4 % NJ][i % 4] = d[i / (NJ * 4) + 1][i / 4 % NJ][i % 4];
				}
			}
		}
		__syncwarp(); // the next products are the whole warp's
	}
	if (warp >= u.products && next) {
		weights.begin(*next);
	}
}

} // namespace
